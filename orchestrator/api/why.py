"""Why a job does not run yet: what the leader has found out about it, and what the job itself tells."""

from typing import Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.domain.ids import JobId
from orchestrator.domain.job import Job
from orchestrator.domain.lifecycle import WAITING, JobState
from orchestrator.domain.outlook import Blocker, Outlook, Way
from orchestrator.store.queries import jobs
from orchestrator.store.queries.outlooks import names, outlook

router = APIRouter(prefix="/api/v1/jobs/{job}/why", tags=["jobs"])

_BY_STATE: Final = {JobState.BLOCKED: "gate", JobState.HELD: "held", JobState.QUEUED: "not_looked_at"}
"""What stands in the way where no scheduler was asked."""


class BlockerView(BaseModel):
    kind: str
    says: str
    counts: dict[str, int]

    @classmethod
    def of(cls, blocker: Blocker) -> "BlockerView":
        return cls(kind=blocker.kind, says=blocker.says, counts=dict(blocker.counts))


class StartView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    at_ms: int
    earliest_ms: int
    latest_ms: int


class WayView(BaseModel):
    says: str
    jobs: list[str]
    """Whose end it is, if that is the change and the caller may see them all."""

    @classmethod
    def of(cls, way: Way, seen: dict[JobId, str]) -> "WayView":
        if not seen.keys() >= set(way.jobs):
            return cls(says=f"{len(way.jobs)} running jobs end, of projects that you do not see", jobs=[])
        if way.jobs:
            return cls(says=f"cancel {', '.join(f'{seen[id]} ({id})' for id in way.jobs)}", jobs=list(way.jobs))
        return cls(says=way.says, jobs=[])


class WhyView(BaseModel):
    job_id: str
    state: str
    waits: bool
    """Whether it is before its next attempt; all that follows is empty if not."""
    message: str
    blockers: list[BlockerView]
    """All that stands in its way; never empty for a job that waits."""
    place: int | None = None
    """In the order in which jobs are offered slices; the first is 1."""
    of: int | None = None
    """How many wait for slices."""
    start: StartView | None = None
    """When it will probably start, with a range."""
    not_before_ms: int | None = None
    """Without an estimate: how far was looked ahead without a start, or the end of the pause after a failure. None:
    nothing that is running would ever let it start."""
    as_of_ms: int | None = None
    """When all this was found out; None: not yet."""
    ways_out: list[WayView] = []
    """Changes of which each alone would have started it at `ways_as_of_ms`, those that cost others least first."""
    ways_as_of_ms: int | None = None


@router.get("")
async def why(job: str, who: User, deps: WithDeps) -> WhyView:
    """Why a job does not run yet, when it will start, and what would help."""
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        known = await outlook(tx, found.id)
        named = {id for way in known.ways for id in way.jobs} if known else set()
        seen = await names(tx, named, who.projects) if named else {}
    return _view(found, known, seen, deps.clock.now_ms())


def _view(job: Job, known: Outlook | None, seen: dict[JobId, str], now_ms: int) -> WhyView:
    pauses = job.state is JobState.QUEUED and job.not_before_ms > now_ms
    told = WhyView(
        job_id=job.id,
        state=job.state,
        waits=job.state in WAITING,
        message=job.message,
        blockers=[BlockerView.of(one) for one in _of_state(job, pauses=pauses)],
        not_before_ms=job.not_before_ms if pauses else None,
    )
    if known is None or pauses or job.state is not JobState.QUEUED:
        return told
    return told.model_copy(
        update={
            "blockers": [BlockerView.of(one) for one in known.blockers],
            "place": known.place,
            "of": known.of,
            "start": None if known.start is None else StartView.model_validate(known.start),
            "not_before_ms": known.not_before_ms,
            "as_of_ms": known.at_ms,
            "ways_out": [WayView.of(way, seen) for way in known.ways],
            "ways_as_of_ms": known.ways_at_ms,
        }
    )


def _of_state(job: Job, *, pauses: bool) -> list[Blocker]:
    if pauses:
        return [Blocker("pause", f"it pauses before its next attempt; the last ended: {job.message}")]
    if job.state not in WAITING:
        return []
    return [Blocker(_BY_STATE[job.state], job.message or "it was submitted a moment ago")]
