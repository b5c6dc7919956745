"""Who goes first: band, then the integer inside the band, then who was submitted first."""

from collections.abc import Iterable

from orchestrator.domain.ids import JobId
from orchestrator.scheduler.snapshot import WaitingJob


def in_order(jobs: Iterable[WaitingJob]) -> tuple[WaitingJob, ...]:
    """The jobs in the order in which they are offered slices. Total: the id breaks the last tie."""
    return tuple(sorted(jobs, key=_key))


def _key(job: WaitingJob) -> tuple[int, int, int, JobId]:
    return job.band, -job.rank_in_band, job.submitted_at_ms, job.id
