"""`account`: measured intervals of a job's attempts, sorted into buckets. No bucket is what is left over by others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from orchestrator.domain.ledger import OF_PHASE, Bucket, Ledger


@dataclass(frozen=True, slots=True)
class AttemptHistory:
    """What is on record of one attempt. Times are wall-clock milliseconds."""

    chips: int
    ordered_at_ms: int
    ready_at_ms: int | None
    detected_at_ms: int | None
    ended_at_ms: int | None
    phases: tuple[tuple[str, int], ...]
    """Rank 0's phases in order: (phase, since)."""
    first_step_at_ms: int | None
    """When the first step after the start was reported."""
    last_report_at_ms: int | None
    commits: tuple[tuple[int, int], ...]
    """(step, when the loop had made it) of each committed checkpoint."""
    resumed_step: int | None
    """The step it restored; 0 if it began anew; None while it has not said."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Half-open: `[since_ms, until_ms)`."""

    bucket: Bucket
    since_ms: int
    until_ms: int


def account(attempts: Sequence[AttemptHistory], now_ms: int) -> Ledger:
    """The ledger of a job from all its attempts, oldest first."""
    chip_ms: Counter[Bucket] = Counter()
    for index, attempt in enumerate(attempts):
        later = attempts[index + 1 :]
        for interval in intervals(attempt, _kept_until_ms(attempt, later), now_ms):
            chip_ms[interval.bucket] += attempt.chips * (interval.until_ms - interval.since_ms)
    return Ledger(dict(chip_ms))


def intervals(attempt: AttemptHistory, kept_until_ms: int | None, now_ms: int) -> tuple[Interval, ...]:
    """An attempt's time from its order to its release, gapless and without overlap.

    Productive time after `kept_until_ms` is lost; None means that nothing was undone.
    """
    marks = _marks(attempt, now_ms)
    found: list[Interval] = []
    for (bucket, since), (_, until) in pairwise(marks):
        if bucket is Bucket.PRODUCTIVE and kept_until_ms is not None:
            middle = min(max(kept_until_ms, since), until)
            found += [Interval(bucket, since, middle), Interval(Bucket.LOST, middle, until)]
        else:
            found.append(Interval(bucket, since, until))
    return tuple(interval for interval in found if interval.until_ms > interval.since_ms)


def _marks(attempt: AttemptHistory, now_ms: int) -> list[tuple[Bucket, int]]:
    """When each bucket begins; the last mark only ends the one before. Clocks of hosts may disagree: never go back."""
    end = now_ms if attempt.ended_at_ms is None else attempt.ended_at_ms
    detected = end if attempt.detected_at_ms is None else attempt.detected_at_ms
    marks = [(Bucket.LAUNCH, attempt.ordered_at_ms)]
    marks += [(OF_PHASE[phase], at) for phase, at in attempt.phases if phase in OF_PHASE]
    if not attempt.phases:
        marks += _marks_without_phases(attempt)
    if attempt.last_report_at_ms is not None:
        marks.append((Bucket.UNREPORTED, attempt.last_report_at_ms))
    marks += [(Bucket.DRAIN, detected), (Bucket.DRAIN, end)]
    return list(_never_back(marks, end))


def _marks_without_phases(attempt: AttemptHistory) -> Iterator[tuple[Bucket, int]]:
    """A program that reports steps and no phases trains from its first step on; what it did before is not known."""
    if attempt.ready_at_ms is not None:
        yield Bucket.UNREPORTED, attempt.ready_at_ms
    if attempt.first_step_at_ms is not None:
        yield Bucket.PRODUCTIVE, attempt.first_step_at_ms


def _never_back(marks: Sequence[tuple[Bucket, int]], end: int) -> Iterator[tuple[Bucket, int]]:
    latest = marks[0][1]
    for bucket, at in marks:
        latest = min(max(latest, at), end)
        yield bucket, latest


def _kept_until_ms(attempt: AttemptHistory, later: Sequence[AttemptHistory]) -> int | None:
    """Until when this attempt's steps count, given where the later attempts resumed; None if none has."""
    resumed = [a.resumed_step for a in later if a.resumed_step is not None]
    if not resumed:
        return None
    kept = [at for step, at in attempt.commits if step <= min(resumed)]
    return max(kept, default=attempt.ordered_at_ms)
