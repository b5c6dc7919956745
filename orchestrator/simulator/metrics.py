"""The figures of a simulation, from its records. Every formula is here and in `docs/reference/simulator.md`.

Times are seconds. Percentiles are nearest-rank. Only jobs that succeeded count, save where a field says otherwise.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from statistics import fmean, median
from typing import Final

from orchestrator.simulator.records import JobRecord, Outcome

SLOWDOWN_BOUND_MS: Final = 10_000
"""Feitelson's bounded slowdown: shorter jobs count as this long."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Of one quantity over all jobs."""

    mean: float
    median: float
    p99: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        ordered = sorted(values)
        if not ordered:
            return cls(0.0, 0.0, 0.0)
        return cls(fmean(ordered), median(ordered), ordered[ceil(0.99 * len(ordered)) - 1])


@dataclass(frozen=True, slots=True)
class FinishTime:
    """Finish-time ratio, completion / (duration x the share that others leave): 1 is fair, more is unfair."""

    worst: float
    mean: float


@dataclass(frozen=True, slots=True)
class Summary:
    """One simulation in figures."""

    jobs: int
    ended: int
    """Succeeded. The others failed, or could never run."""
    unfit: int
    completion_s: Spread
    waiting_s: Spread
    bounded_slowdown: Spread
    makespan_s: float
    """From the first submit to the last end."""
    utilisation: float
    """Chip-time held by gangs over the fleet's chip-time in the makespan, 0 to 1."""
    jain: float
    """Jain's index, (sum x)^2 / (n sum x^2), over users; x is a user's mean bounded slowdown. 1: all fare alike."""
    finish_of_trace: FinishTime
    """Shared by all jobs of the trace, each with 1/N of the fleet: N / chips, as Shockwave's authors publish."""
    finish_of_jobs: FinishTime
    """Shared by the jobs that were there, on average over the job's life, as Themis has it."""
    finish_of_users: FinishTime
    """Shared equally by the users who were there: a job of c chips is slowed by c x users / chips."""
    preemptions: int
    evictions: int
    resizes: int
    lost_chip_s: float
    """Work done again, and starts of attempts that did not end their job."""


def summarise(outcome: Outcome) -> Summary:
    """The figures of an outcome."""
    ended = outcome.ended
    slowdowns = [_bounded_slowdown(job) for job in ended]
    first = min((job.submit_ms for job in outcome.jobs.values()), default=0)
    makespan_ms = max((job.end_ms or 0 for job in outcome.jobs.values()), default=0) - first
    held_chip_ms = sum(run.chips * (run.until_ms - run.since_ms) for run in outcome.runs)
    everyone = list(outcome.jobs.values())
    return Summary(
        jobs=len(everyone),
        ended=len(ended),
        unfit=outcome.unfit,
        completion_s=Spread.of(job.completion_ms / 1000 for job in ended),
        waiting_s=Spread.of(job.waiting_ms / 1000 for job in ended),
        bounded_slowdown=Spread.of(slowdowns),
        makespan_s=makespan_ms / 1000,
        utilisation=held_chip_ms / (outcome.chips * makespan_ms) if makespan_ms > 0 else 0.0,
        jain=_jain(ended),
        finish_of_trace=_finish(ended, [len(everyone) / outcome.chips] * len(ended)),
        finish_of_jobs=_finish(ended, _contention(ended, outcome.chips)),
        finish_of_users=_finish(ended, _user_contention(ended, outcome.chips)),
        preemptions=sum(job.preemptions for job in everyone),
        evictions=sum(job.evictions for job in everyone),
        resizes=sum(job.resizes for job in everyone),
        lost_chip_s=outcome.lost_chip_ms / 1000,
    )


def _bounded_slowdown(job: JobRecord) -> float:
    return max(1.0, job.completion_ms / max(SLOWDOWN_BOUND_MS, job.duration_ms))


def _jain(jobs: Sequence[JobRecord]) -> float:
    by_user: defaultdict[str, list[float]] = defaultdict(list)
    for job in jobs:
        by_user[job.user].append(_bounded_slowdown(job))
    means = [fmean(values) for values in by_user.values()]
    return sum(means) ** 2 / (len(means) * sum(x * x for x in means)) if means else 1.0


def _finish(jobs: Sequence[JobRecord], shared_by: Sequence[float]) -> FinishTime:
    """A job cannot be slowed by less than nobody: the share is at most the whole fleet."""
    ratios = [job.completion_ms / (job.duration_ms * max(1.0, n)) for job, n in zip(jobs, shared_by, strict=True)]
    return FinishTime(max(ratios, default=0.0), fmean(ratios) if ratios else 0.0)


def _contention(jobs: Sequence[JobRecord], chips: int) -> list[float]:
    present = _Presence([(job.submit_ms, job.submit_ms + job.completion_ms) for job in jobs])
    return [present.mean(job.submit_ms, job.submit_ms + job.completion_ms) / chips for job in jobs]


def _user_contention(jobs: Sequence[JobRecord], chips: int) -> list[float]:
    """A user is there while one of his jobs at least is."""
    spans: list[tuple[int, int]] = []
    by_user: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for job in jobs:
        by_user[job.user].append((job.submit_ms, job.submit_ms + job.completion_ms))
    for mine in by_user.values():
        spans += _union(sorted(mine))
    present = _Presence(spans)
    return [job.chips * present.mean(job.submit_ms, job.submit_ms + job.completion_ms) / chips for job in jobs]


def _union(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for since, until in spans:
        if found and since <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((since, until))
    return found


class _Presence:
    """How many of some spans cover a moment, averaged over any span: by its integral at each edge."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        edges = sorted([(since, 1) for since, _ in spans] + [(until, -1) for _, until in spans])
        self._at = [at for at, _ in edges]
        self._count = list(accumulate(step for _, step in edges))
        widths = [later - at for at, later in zip(self._at, self._at[1:], strict=False)]
        self._area = list(accumulate((n * w for n, w in zip(self._count, widths, strict=False)), initial=0))

    def mean(self, since: int, until: int) -> float:
        return (self._until(until) - self._until(since)) / (until - since) if until > since else 1.0

    def _until(self, at: int) -> float:
        index = bisect_right(self._at, at) - 1
        return self._area[index] + self._count[index] * (at - self._at[index])
