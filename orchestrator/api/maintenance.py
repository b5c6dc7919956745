"""Maintenance: when slices are out, and why. Nothing starts that would run into it; what still runs is asked to go."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from orchestrator.api.auth import GlobalAdmin, User
from orchestrator.api.deps import WithDeps
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.domain.errors import Fault, InvalidInput
from orchestrator.domain.fleet import Maintenance, Target
from orchestrator.store.commands import maintenance as commands
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import fleet, maintenance

router = APIRouter(prefix="/api/v1/maintenance", tags=["fleet"], route_class=StrictRoute)

_LONGEST_MS: Final = 366 * 86_400_000
Moment = Annotated[int, Field(ge=0, lt=253_402_300_800_000, description="Unix milliseconds")]


class NewMaintenance(Asked):
    target: Literal["slice", "pool"] = "slice"
    name: Annotated[str, Field(min_length=1, max_length=200)]
    since_ms: Moment
    until_ms: Moment
    reason: Annotated[str, Field(min_length=1, max_length=500)]


class MaintenanceView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: str
    target: str
    name: str
    since_ms: int
    until_ms: int
    reason: str
    actor: str
    at_ms: int


class MaintenanceList(BaseModel):
    items: list[MaintenanceView]


@router.get("")
async def list_maintenance(_who: User, deps: WithDeps) -> MaintenanceList:
    """What is under way or to come, soonest first."""
    async with deps.database.read() as tx:
        found = await maintenance.planned(tx, deps.clock.now_ms())
    return MaintenanceList(items=[MaintenanceView.model_validate(one) for one in found])


@router.post("", status_code=201)
async def declare_maintenance(body: NewMaintenance, who: GlobalAdmin, deps: WithDeps) -> MaintenanceView:
    """Declare that a slice, or every slice of a pool, is out for a while."""
    now_ms = deps.clock.now_ms()
    new = Maintenance(
        deps.new_id("mnt"),
        Target(body.target),
        body.name,
        body.since_ms,
        body.until_ms,
        body.reason,
        who.name,
        now_ms,
    )
    _refuse_odd_span(new, now_ms)
    async with deps.database.write() as tx:
        await _refuse_unknown(tx, new)
        await commands.declare(tx, new, who.actor)
    return MaintenanceView.model_validate(new)


@router.delete("/{maintenance_id}", status_code=204, response_class=Response)
async def withdraw_maintenance(maintenance_id: str, who: GlobalAdmin, deps: WithDeps) -> None:
    """Take it back; what is under way is over."""
    async with deps.database.write() as tx:
        found = await maintenance.by_id(tx, maintenance_id)
        await commands.withdraw(tx, found, deps.clock.now_ms(), who.actor)


def _refuse_odd_span(new: Maintenance, now_ms: int) -> None:
    if new.until_ms <= new.since_ms:
        raise InvalidInput((Fault("until_ms", f"must be after since_ms, {new.since_ms}, got {new.until_ms}"),))
    if new.until_ms <= now_ms:
        raise InvalidInput((Fault("until_ms", f"is over already: it is {now_ms} now"),))
    if new.until_ms - new.since_ms > _LONGEST_MS:
        raise InvalidInput((Fault("until_ms", "at most 366 days after since_ms; cordon what is out for longer"),))


async def _refuse_unknown(tx: ReadTx, new: Maintenance) -> None:
    slices = await fleet.all_slices(tx)
    known = sorted({one.pool for one in slices} if new.target is Target.POOL else {str(one.id) for one in slices})
    if new.name not in known:
        there = ", ".join(known[:20]) or "none"
        raise InvalidInput((Fault("name", f"there is no {new.target} {new.name[:80]!r}; there is {there}"),))
