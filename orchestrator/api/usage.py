"""What projects used."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.domain.access import Role
from orchestrator.store.queries import people
from orchestrator.store.queries.usage import usage

router = APIRouter(prefix="/api/v1/projects/{project}/usage", tags=["projects"])

Moment = Annotated[int | None, Query(ge=0, le=2**53, description="Unix milliseconds")]


class UsageView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    chip_ms: int
    """Allocated within the span, to attempts that ended and to those that run."""
    attempts: int
    chips_now: int
    jobs: dict[str, int]
    """By state, as they are now."""


@router.get("")
async def get_usage(
    project: str, who: User, deps: WithDeps, since_ms: Moment = None, until_ms: Moment = None
) -> UsageView:
    """Of all time, unless a span is given."""
    who.needs(Role.VIEWER, project)
    now_ms = deps.clock.now_ms()
    async with deps.database.read() as tx:
        await people.project(tx, project)
        found = await usage(tx, project, since_ms or 0, now_ms if until_ms is None else until_ms, now_ms)
    return UsageView.model_validate(found)
