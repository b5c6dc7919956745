"""How long each phase of an attempt may go without a sign of progress: as written in a spec, and as limits. Pure."""

from dataclasses import dataclass, fields
from typing import Final

from orchestrator.domain.faults import STRICT, SpecError
from orchestrator.domain.spans import duration_ms

AUTO: Final = "auto"
JOIN_MS: Final = 180_000
"""For a built-in program's ranks to join: start of the interpreter, imports, chips."""
JOIN_OF_COMMAND_MS: Final = 600_000
"""The same for a program of the user's, which may do more before it joins; jax.distributed gives up after 300 s."""
JOIN_PER_HOST_MS: Final = 1_000
SHORTEST_STEP_MS: Final = 60_000
"""A built-in program's steps are not called overdue earlier, however short they are: a host may be busy for a while."""
SHORTEST_STEP_OF_COMMAND_MS: Final = 600_000
STEP_MEDIANS: Final = 20
STEP_SLOWEST: Final = 4
ENOUGH_STEPS: Final = 3
"""Gaps between reported steps, before which an attempt's own history says nothing."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Spans as written: a time span, `unlimited`, or for `init` and `step` `auto`."""

    __pydantic_config__ = STRICT

    init: str = AUTO
    """From the launch until every rank has joined. `auto`: 3 minutes, for commands 10, and a second per host."""
    compile: str = "1h"
    """The first step is part of it."""
    restore: str = "1h"
    step: str = AUTO
    """Between two reports of steps. `auto`: twenty times the median of this attempt's own, or four times the slowest,
    whichever is more; at least a minute, for commands ten."""
    checkpoint: str = "1h"
    eval: str = "2h"

    def __post_init__(self) -> None:
        for field in fields(self):
            text = getattr(self, field.name)
            if text != AUTO:
                duration_ms(text, field.name)
            elif field.name not in ("init", "step"):
                raise SpecError(field.name, "cannot be auto; write e.g. 30m, or unlimited")


DEFAULT_PATIENCE: Final = Patience()


@dataclass(frozen=True, slots=True)
class Limits:
    """The same as numbers, for the supervisor of one attempt. None: no limit."""

    init_ms: int | None
    compile_ms: int | None
    restore_ms: int | None
    step_ms: int | None
    """Written by the owner, or the least that the step history may come to."""
    checkpoint_ms: int | None
    eval_ms: int | None
    by_history: bool
    """Whether steps are held to the attempt's own history, with `step_ms` as the least."""

    def of_phase(self, phase: str) -> int | None:
        """The limit of a phase other than `train`; None for phases that nobody knows."""
        match phase:
            case "init" | "join":
                return self.init_ms
            case "compile":
                return self.compile_ms
            case "restore":
                return self.restore_ms
            case "checkpoint":
                return self.checkpoint_ms
            case "eval":
                return self.eval_ms
        return None

    def of_step(self, gaps: int, median_ms: int, slowest_ms: int) -> int | None:
        """How long the next report of a step may take, after `gaps` gaps between reports were seen."""
        if self.step_ms is None or (gaps > 0 and not self.by_history):
            return self.step_ms
        if gaps < (ENOUGH_STEPS if self.by_history else 1):  # the first step may hold a compilation
            return None if self.compile_ms is None else max(self.compile_ms, self.step_ms)
        return max(self.step_ms, STEP_MEDIANS * median_ms, STEP_SLOWEST * slowest_ms)


NO_LIMITS: Final = Limits(None, None, None, None, None, None, by_history=False)


def limits_of(patience: Patience, hosts: int, builtin: bool) -> Limits:
    """The limits of an attempt on `hosts` hosts; `builtin` programs say what they do, commands need not."""
    join_ms = (JOIN_MS if builtin else JOIN_OF_COMMAND_MS) + JOIN_PER_HOST_MS * hosts
    least_ms = SHORTEST_STEP_MS if builtin else SHORTEST_STEP_OF_COMMAND_MS
    by_history = patience.step == AUTO
    return Limits(
        init_ms=join_ms if patience.init == AUTO else duration_ms(patience.init, "init"),
        compile_ms=duration_ms(patience.compile, "compile"),
        restore_ms=duration_ms(patience.restore, "restore"),
        step_ms=least_ms if by_history else duration_ms(patience.step, "step"),
        checkpoint_ms=duration_ms(patience.checkpoint, "checkpoint"),
        eval_ms=duration_ms(patience.eval, "eval"),
        by_history=by_history,
    )
