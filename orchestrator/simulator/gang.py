"""One simulated attempt: how far it is at any time, and what is left of that when it ends early."""

from dataclasses import dataclass

from orchestrator.domain.job import Attempt, Progress


@dataclass(frozen=True, slots=True)
class Costs:
    """What running costs besides the work itself. Milliseconds. Counting-only means all of them 0."""

    start_ms: int = 0
    """From the order to the first step: launch, compile, restore."""
    commit_every_ms: int | None = None
    """Work between two commits; None: everything is committed at once."""
    save_ms: int = 0
    """From a stop order to the end, with everything done until then committed."""


@dataclass(frozen=True, slots=True)
class SimGang:
    """Work is measured in milliseconds on the job's full number of slices."""

    attempt: Attempt
    done_ms: int
    """Work that was committed before it started."""
    total_ms: int
    speed: float
    """1 on the full number of slices; an elastic gang on half of them has 0.5."""
    costs: Costs

    @property
    def ready_at_ms(self) -> int:
        return self.attempt.ordered_at_ms + self.costs.start_ms

    @property
    def ends_at_ms(self) -> int:
        """When it has done all, if nothing happens."""
        return self.ready_at_ms + round((self.total_ms - self.done_ms) / self.speed)

    def worked_ms(self, now_ms: int) -> int:
        """All work by now, committed or not."""
        return min(self.total_ms, self.done_ms + max(0, int((now_ms - self.ready_at_ms) * self.speed)))

    def committed_ms(self, now_ms: int) -> int:
        """Work that survives a loss now."""
        worked, every = self.worked_ms(now_ms), self.costs.commit_every_ms
        if every is None:
            return worked
        return self.done_ms + (worked - self.done_ms) // every * every

    def progress(self, now_ms: int, committed_ms: int | None = None) -> Progress:
        """What it has reported by now; `committed_ms`: all that it committed, if its end tells."""
        committed = self.committed_ms(now_ms) if committed_ms is None else committed_ms
        made_at_ms = self.ready_at_ms + int((committed - self.done_ms) / self.speed)
        return Progress(
            self.attempt.id,
            committed_step=committed,
            resumed_step=self.done_ms,
            first_step_at_ms=self.ready_at_ms if now_ms >= self.ready_at_ms else None,
            committed_at_ms=made_at_ms if committed > self.done_ms else None,
        )
