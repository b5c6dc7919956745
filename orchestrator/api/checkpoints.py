"""Committed steps of a job: the registry, pins, and errands on their objects. What is not committed does not exist."""

from collections.abc import Collection
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from orchestrator.api.auth import User
from orchestrator.api.bodies import MIB, read_wire
from orchestrator.api.deps import WithDeps
from orchestrator.api.verbs import mine
from orchestrator.api.views import number_view
from orchestrator.checkpoints.retention import plan
from orchestrator.domain.access import Caller
from orchestrator.domain.errors import Fault, InvalidInput
from orchestrator.domain.job import Job
from orchestrator.store.commands import checkpoints as commands
from orchestrator.store.commands import errands as errand_commands
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import checkpoints as registry
from orchestrator.store.queries import errands as errand_queries
from orchestrator.store.queries import jobs, reports
from orchestrator.store.queries.checkpoints import Registered

router = APIRouter(prefix="/api/v1/jobs/{job}/checkpoints", tags=["checkpoints"])

Number = Annotated[int | None, Query(ge=1, le=2**31 - 1)]


class RestoredIntoView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    job_id: str
    attempt: int


class CheckpointView(BaseModel):
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
    """committed, quarantined (it did not restore), deleting or deleted."""
    pinned: bool
    note: str
    unfenced: bool
    """Committed by a program of the user's by itself, in the folder that its job has watched."""
    kept: str | None
    """Why retention keeps it; null: it does not, or there is nothing left to keep."""
    metrics: dict[str, float | str]
    """What was reported at this very step."""
    restored_into: list[RestoredIntoView]


class CheckpointList(BaseModel):
    items: list[CheckpointView]


class ErrandView(BaseModel):
    """Something a cluster does to checkpoint objects. `ok` is null while it is not done."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    kind: str
    path: str
    target: str | None
    asked_at_ms: int
    done_at_ms: int | None
    ok: bool | None
    message: str


Step = Annotated[int, Path(ge=0, le=2**63 - 1)]


class PinBody(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    pinned: bool = True
    note: str | None = Field(default=None, max_length=2000)


class ErrandBody(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["verify", "export"]
    target: str | None = Field(default=None, max_length=4096)


_PIN: TypeAdapter[PinBody] = TypeAdapter(PinBody)
_ERRAND: TypeAdapter[ErrandBody] = TypeAdapter(ErrandBody)


@router.get("")
async def list_checkpoints(job: str, who: User, deps: WithDeps) -> CheckpointList:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        return CheckpointList(items=await _views(tx, who, found, deps.clock.now_ms()))


@router.post("/{step}/pin")
async def pin(
    job: str, step: Step, request: Request, who: User, deps: WithDeps, attempt: Number = None
) -> CheckpointView:
    body = await read_wire(request, _PIN, MIB)
    async with deps.database.write() as tx:
        found = await mine(tx, who, job, None)
        saved = await registry.find(tx, found.id, step, attempt)
        await commands.pin(tx, saved, body.pinned, body.note, deps.clock.now_ms())
        return await _view_of(tx, who, found, saved, deps.clock.now_ms())


@router.delete("/{step}", status_code=202)
async def delete(job: str, step: Step, who: User, deps: WithDeps, attempt: Number = None) -> CheckpointView:
    async with deps.database.write() as tx:
        found = await mine(tx, who, job, None)
        saved = await registry.find(tx, found.id, step, attempt)
        newest = next((one for one in await registry.registry(tx, found.id) if one.state == "committed"), None)
        await commands.delete(tx, saved, newest, deps.new_id, deps.clock.now_ms())
        return await _view_of(tx, who, found, saved, deps.clock.now_ms())


@router.post("/{step}/errands", status_code=202)
async def ask_errand(
    job: str, step: Step, request: Request, who: User, deps: WithDeps, attempt: Number = None
) -> ErrandView:
    """Have every byte of a step verified, or the step copied to another folder."""
    body = await read_wire(request, _ERRAND, MIB)
    if (body.kind == "export") != (body.target is not None):
        raise InvalidInput((Fault("target", "an export has one, a local folder or gs://…; a verify has none"),))
    async with deps.database.write() as tx:
        found = await mine(tx, who, job, None)
        saved = await registry.find(tx, found.id, step, attempt)
        errand_commands.refuse_foreign(saved)
        now_ms = deps.clock.now_ms()
        (errand,) = await errand_commands.ask(tx, found.id, body.kind, [saved.path], deps.new_id, now_ms, body.target)
        return ErrandView.model_validate(await errand_queries.get(tx, errand))


@router.post("/orphans", status_code=202)
async def collect_orphans(job: str, who: User, deps: WithDeps) -> ErrandView:
    """Have what dead attempts left uncommitted deleted, after its age limit; foreign objects are only reported."""
    async with deps.database.write() as tx:
        found = await mine(tx, who, job, None)
        errand = await commands.ask_for_orphans(tx, found, deps.new_id, deps.clock.now_ms())
        return ErrandView.model_validate(await errand_queries.get(tx, errand))


@router.get("/errands/{errand}")
async def get_errand(job: str, errand: str, who: User, deps: WithDeps) -> ErrandView:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        return ErrandView.model_validate(await errand_queries.get(tx, errand, found.id))


async def _view_of(tx: ReadTx, who: Caller, job: Job, saved: Registered, now_ms: int) -> CheckpointView:
    return next(view for view in await _views(tx, who, job, now_ms) if view.path == saved.path)


async def _views(tx: ReadTx, who: Caller, job: Job, now_ms: int) -> list[CheckpointView]:
    """Oldest step first."""
    keepable = (await registry.keepable(tx, [job])).get(job.id, [])
    reasons = plan(keepable, job.spec.checkpoint, now_ms)
    made_at = {one.path: one.step_at_ms for one in await reports.checkpoints_of(tx, job.id)}
    found = sorted(await registry.registry(tx, job.id), key=lambda one: (one.step, one.attempt))
    users = await jobs.seen(tx, {user.job_id for one in found for user in one.restored_into}, who.projects)
    return [_view(one, reasons.get((one.attempt, one.step)), made_at[one.path], users) for one in found]


def _view(one: Registered, kept: Any, step_at_ms: int | None, users: Collection[str]) -> CheckpointView:
    return CheckpointView(
        attempt=one.attempt,
        attempt_id=one.attempt_id,
        step=one.step,
        path=one.path,
        bytes=one.bytes,
        step_at_ms=step_at_ms,
        save_ms=one.save_ms,
        blocked_ms=one.blocked_ms,
        at_ms=one.at_ms,
        state=one.state,
        pinned=one.pinned,
        note=one.note,
        unfenced=one.unfenced,
        kept=kept,
        metrics={name: number_view(value) for name, value in one.values.items()},
        restored_into=[RestoredIntoView.model_validate(user) for user in one.restored_into if user.job_id in users],
    )
