"""What a list of thousands shows besides jobs: how many are in each state, and how far the rows in sight are."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.api.jobs import Search
from orchestrator.api.views import ProgressView
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.pace import last_step_at_ms
from orchestrator.store.queries import glances, jobs
from orchestrator.store.queries.jobs import JobFilter

_POINTS: Final = 40

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])


class JobCounts(BaseModel):
    by_state: dict[str, int]
    """Every state is there."""
    total: int


class GlanceView(BaseModel):
    id: str
    chips: int | None
    """Of the newest attempt."""
    slices: list[str]
    """Those that it holds, or held."""
    progress: ProgressView | None
    last_step_at_ms: int | None
    """When the live attempt will have made its last step, at the pace of those so far; None: nobody can know."""
    steps: list[int]
    values: list[float]
    """A few dozen points of the series over all attempts, what restarts undid left out."""

    @classmethod
    def of(cls, glance: glances.Glance) -> "GlanceView":
        attempt, progress = glance.attempt, glance.progress
        return cls(
            id=glance.job_id,
            chips=attempt.chips if attempt else None,
            slices=list(attempt.slices) if attempt else [],
            progress=None if progress is None else ProgressView.model_validate(progress),
            last_step_at_ms=last_step_at_ms(progress) if attempt and attempt.live and progress else None,
            steps=[step for step, _ in glance.outline],
            values=[value for _, value in glance.outline],
        )


class Glances(BaseModel):
    items: list[GlanceView]


@router.get("/counts")
async def count_jobs(
    who: User,
    deps: WithDeps,
    name: str | None = None,
    project: str | None = None,
    owner: str | None = None,
    array: str | None = None,
    search: Search = None,
) -> JobCounts:
    """How many jobs are in each state, among those that the list would show."""
    wanted = JobFilter(None, name, project, owner, array, None, who.projects, search)
    async with deps.database.read() as tx:
        found = await jobs.counts(tx, wanted)
    return JobCounts(by_state={state.value: found.get(state, 0) for state in JobState}, total=sum(found.values()))


@router.get("/glances")
async def get_glances(
    who: User,
    deps: WithDeps,
    id: Annotated[list[str] | None, Query(max_length=100)] = None,
    series: Annotated[str, Query(max_length=400)] = "loss",
) -> Glances:
    """How far these jobs are, with the outline of one series; of those that are not there nothing is said."""
    async with deps.database.read() as tx:
        found = await glances.glances(tx, id or (), series, _POINTS, who.projects)
    return Glances(items=[GlanceView.of(one) for one in found])
