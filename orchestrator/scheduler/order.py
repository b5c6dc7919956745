"""Who goes first: band, then who comes back from an eviction, then fair share and expected slowdown, which ages.

The integer inside a band orders a project's own jobs only: it permutes them over the places that the project has.
"""

from collections import defaultdict
from collections.abc import Callable
from math import log2

from orchestrator.domain.ids import JobId
from orchestrator.domain.spec import Band
from orchestrator.scheduler.policy import FairShare, Order
from orchestrator.scheduler.share import overuse
from orchestrator.scheduler.snapshot import Snapshot, WaitingJob

Key = tuple[int, bool, int, float, int, JobId]


def in_order(snapshot: Snapshot) -> list[WaitingJob]:
    """The jobs in the order in which they are offered slices. Total: the id breaks the last tie."""
    key = _key(snapshot)
    ordered = sorted(snapshot.waiting, key=key)
    if any(job.rank_in_band for job in ordered):
        _by_rank_within_projects(ordered)
    return ordered


def _key(snapshot: Snapshot) -> Callable[[WaitingJob], Key]:
    policy, now = snapshot.policy, snapshot.now_ms
    if policy.order is Order.SUBMITTED:
        return lambda job: (job.band, not job.returning, 0, 0.0, job.submitted_at_ms, job.id)
    over = overuse(snapshot.projects, {job.project for job in snapshot.waiting})
    fair = policy.fair_share
    levels = {name: _level(used) if fair is FairShare.LEADS else 0 for name, used in over.items()}
    divisors = {name: max(1.0, used) if fair is FairShare.TEMPERS else 1.0 for name, used in over.items()}
    unknown, bound = policy.unknown_runtime_ms, policy.slowdown_bound_ms

    def key(job: WaitingJob) -> Key:
        runtime = job.runtime_ms if job.runtime_ms is not None else unknown
        if runtime < bound:
            runtime = bound
        slowdown = (now - job.submitted_at_ms + runtime) / runtime
        project = job.project
        return (
            job.band,
            not job.returning,
            levels[project],
            -slowdown / divisors[project],
            job.submitted_at_ms,
            job.id,
        )

    return key


def _level(over: float) -> int:
    """0 up to the fair share, 1 up to twice, 2 up to four times, …"""
    return 0 if over <= 1 else int(log2(over)) + 1


def _by_rank_within_projects(ordered: list[WaitingJob]) -> None:
    """Give each project's places in a band to its jobs by rank, highest first; equals stay as they were."""
    places: defaultdict[tuple[Band, bool, str], list[int]] = defaultdict(list)
    for index, job in enumerate(ordered):
        places[job.band, job.returning, job.project].append(index)
    for indexes in places.values():
        ranked = sorted((ordered[index] for index in indexes), key=lambda job: -job.rank_in_band)
        for index, job in zip(indexes, ranked, strict=True):
            ordered[index] = job
