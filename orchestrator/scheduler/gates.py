"""What keeps a job from being placed at all, whatever is free: jobs that must end first, a full array."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.domain.ids import JobId
from orchestrator.scheduler.snapshot import RunningGang, WaitingJob


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Jobs that must end before this one."""

    jobs: tuple[JobId, ...]

    @property
    def says(self) -> str:
        more = f" and {len(self.jobs) - 3} more" if self.jobs[3:] else ""
        return f"waits for the end of {', '.join(self.jobs[:3])}{more}"


@dataclass(frozen=True, slots=True)
class ArrayFull:
    """As many members of the job's array run as may."""

    array: str
    at_once: int

    @property
    def says(self) -> str:
        return f"array {self.array} runs at most {self.at_once} jobs at once, and that many run"


class Gates:
    """Who may be placed, kept up to date within one plan."""

    def __init__(self, running: Iterable[RunningGang]) -> None:
        self._of_array = Counter(gang.array.id for gang in running if gang.array is not None)

    def shut(self, job: WaitingJob) -> tuple[Unfinished | ArrayFull, ...]:
        """Everything that keeps the job out."""
        found: list[Unfinished | ArrayFull] = [Unfinished(job.after)] if job.after else []
        if job.array is not None and self._of_array[job.array.id] >= job.array.at_once:
            found.append(ArrayFull(job.array.id, job.array.at_once))
        return tuple(found)

    def started(self, job: WaitingJob) -> None:
        if job.array is not None:
            self._of_array[job.array.id] += 1
