"""How long a job will run: as its owner says, else as like jobs ran, and for a running one as its steps show.

Source of the history rule: Tsafrir, Etsion and Feitelson, "Backfilling using system-generated predictions rather than
user runtime estimates" (2007): the mean of the last two jobs of the same user predicts better than users do.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Final

from orchestrator.domain.job import Attempt, Progress
from orchestrator.domain.pace import last_step_at_ms
from orchestrator.domain.sharing import Likeness
from orchestrator.domain.spec import JobSpec

REMEMBERED: Final = 2
"""Runs of each likeness that count."""

History = Mapping[Likeness, tuple[int, ...]]


def likeness(spec: JobSpec) -> Likeness:
    """What tells which jobs are alike."""
    slices = spec.slices if isinstance(spec.slices, str) else ",".join(spec.slices)
    return spec.project, spec.name, slices


def remember(history: MutableMapping[Likeness, tuple[int, ...]], like: Likeness, ran_ms: int) -> None:
    """Note that such a job has run for so long, to the end."""
    for key in _widening(like):
        history[key] = (*history.get(key, ()), ran_ms)[-REMEMBERED:]


def expected_runtime_ms(spec: JobSpec, history: History) -> int | None:
    """The owner's estimate, else the mean of the last runs of the most alike jobs; None: nobody knows.

    `max_runtime` bounds it: the control plane ends the job then.
    """
    expected = spec.expected_runtime_ms
    if expected is None and history:
        runs = next((history[key] for key in _widening(likeness(spec)) if key in history), ())
        expected = sum(runs) // len(runs) if runs else None
    longest = spec.max_runtime_ms
    return expected if longest is None else min(longest, longest if expected is None else expected)


def left_ms(expected_ms: int | None, done_ms: int) -> int | None:
    """What is left of the expected time once the work of `done_ms` is committed. A job that has outrun its estimate is
    given a tenth of that more, lest it pass for the shortest there is."""
    return None if expected_ms is None else max(expected_ms - done_ms, expected_ms // 10)


def done_ms(spec: JobSpec, attempt: Attempt, progress: Progress) -> int:
    """How long the work of an attempt took of which all is committed, as if on the most chips that the job accepts."""
    began = progress.first_step_at_ms if progress.first_step_at_ms is not None else attempt.ordered_at_ms
    if progress.committed_at_ms is None:
        return 0
    most = max(choice.chips for choice in spec.choices)
    return max(0, progress.committed_at_ms - began) * attempt.chips // most


def ends_at_ms(attempt: Attempt, expected_ms: int | None, progress: Progress) -> int | None:
    """When an attempt will end: by its measured step time where it reports steps and their total, else as expected."""
    if attempt.stop is not None:
        return attempt.stop.at_ms + attempt.stop.grace_ms
    if (measured := last_step_at_ms(progress)) is not None:
        return measured
    return None if expected_ms is None else attempt.ordered_at_ms + expected_ms


def restart_ms(attempt: Attempt, progress: Progress, assumed_ms: int) -> int:
    """What a restart of this job costs: what its last start cost, from the order to the first step."""
    first = progress.first_step_at_ms
    return assumed_ms if first is None else max(0, first - attempt.ordered_at_ms)


def _widening(like: Likeness) -> Iterator[Likeness]:
    """The same job again, then the project's jobs of that size, then any of the project's."""
    project, name, slices = like
    yield project, name, slices
    yield project, "", slices
    yield project, "", ""
