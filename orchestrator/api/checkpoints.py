"""Committed steps of a job. What is not committed does not exist."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.store.queries import jobs, reports

router = APIRouter(prefix="/api/v1/jobs/{job}/checkpoints", tags=["checkpoints"])


class CheckpointView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    attempt: int
    attempt_id: str
    step: int
    path: str
    bytes: int | None
    step_at_ms: int | None
    save_ms: int | None
    blocked_ms: int | None
    at_ms: int
    state: str
    """committed, or quarantined: it did not restore."""


class CheckpointList(BaseModel):
    items: list[CheckpointView]


@router.get("")
async def list_checkpoints(job: str, who: User, deps: WithDeps) -> CheckpointList:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        saved = await reports.checkpoints_of(tx, found.id)
    return CheckpointList(items=[CheckpointView.model_validate(one) for one in saved])
