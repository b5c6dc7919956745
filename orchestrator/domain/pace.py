"""When a run will have made its last step, as its steps so far show. The scheduler and the screens read the same."""

from typing import Final

from orchestrator.domain.job import Progress

_TRUSTED_STEPS: Final = 3
"""Steps after which the step time says more than an estimate."""


def last_step_at_ms(progress: Progress) -> int | None:
    """The mean step time since the first step, laid end to end from the last report on; None while nobody can know.

    `last_report_at_ms` is when `step` was made.
    """
    first, last = progress.first_step_at_ms, progress.last_report_at_ms
    step, total = progress.step, progress.total_steps
    if first is None or last is None or step is None or total is None:
        return None
    made = step - (progress.resumed_step or 0) - 1
    if made < _TRUSTED_STEPS:
        return None
    return last + (last - first) * max(0, total - step) // made
