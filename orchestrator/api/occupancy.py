"""Who held which slices, lately and now."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.store.queries import occupancy

router = APIRouter(prefix="/api/v1/occupancy", tags=["fleet"])


class StayView(BaseModel):
    """One attempt on its slices."""

    model_config = ConfigDict(from_attributes=True)

    attempt_id: str
    number: int
    job_id: str
    job_name: str
    project: str
    slices: list[str]
    since_ms: int
    until_ms: int | None
    """None: it is there."""
    reason: str | None


class StayList(BaseModel):
    items: list[StayView]


@router.get("")
async def list_stays(
    who: User,
    deps: WithDeps,
    since_ms: Annotated[int, Query(ge=0, le=2**53, description="Unix milliseconds")] = 0,
    limit: Annotated[int, Query(ge=1, le=2_000, description="at most so many items")] = 500,
) -> StayList:
    """The attempts that ran at `since_ms` or later, newest first."""
    async with deps.database.read() as tx:
        found = await occupancy.stays(tx, since_ms, limit, who.projects)
    return StayList(items=[StayView.model_validate(one) for one in found])
