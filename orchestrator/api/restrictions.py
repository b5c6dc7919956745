"""Take a pool, slice or host out of the fleet with a reason, and let it back in. For global admins."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from orchestrator.api.auth import GlobalAdmin
from orchestrator.api.deps import WithDeps
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.api.views import RestrictionView
from orchestrator.domain.errors import NotFound
from orchestrator.domain.fleet import Limit, Restriction, Target
from orchestrator.store.commands import restrictions as commands
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import fleet, restrictions

router = APIRouter(prefix="/api/v1", tags=["fleet"], route_class=StrictRoute)

_IMPOSES = {"cordon": Limit.CORDONED, "drain": Limit.DRAINING, "quarantine": Limit.QUARANTINED}

Verb = Literal["cordon", "drain", "quarantine", "readmit"]


class Why(Asked):
    reason: Annotated[str, Field(min_length=1, max_length=500)]


class Outcome(BaseModel):
    target: str
    name: str
    restriction: RestrictionView | None
    """None: it is in the fleet."""


@router.post("/pools/{pool}/{verb}", status_code=202)
async def ask_pool(pool: str, verb: Verb, body: Why, who: GlobalAdmin, deps: WithDeps) -> Outcome:
    """Cordon: nothing new starts there. Drain: what runs goes on elsewhere. Quarantine: suspected to be broken."""
    return await _ask(Target.POOL, pool, verb, body.reason, who, deps)


@router.post("/slices/{slice_id}/{verb}", status_code=202)
async def ask_slice(slice_id: str, verb: Verb, body: Why, who: GlobalAdmin, deps: WithDeps) -> Outcome:
    return await _ask(Target.SLICE, slice_id, verb, body.reason, who, deps)


@router.post("/slices/{slice_id}/hosts/{host}/{verb}", status_code=202)
async def ask_host(slice_id: str, host: int, verb: Verb, body: Why, who: GlobalAdmin, deps: WithDeps) -> Outcome:
    """A slice is an atom: its restricted host takes it out as a whole."""
    return await _ask(Target.HOST, f"{slice_id}/{host}", verb, body.reason, who, deps)


async def _ask(target: Target, name: str, verb: Verb, reason: str, who: GlobalAdmin, deps: WithDeps) -> Outcome:
    now_ms = deps.clock.now_ms()
    async with deps.database.write() as tx:
        await _refuse_unknown(tx, target, name)
        if verb == "readmit":
            await commands.readmit(tx, target, name, reason, now_ms, who.actor)
            return Outcome(target=target, name=name, restriction=None)
        imposed = Restriction(target, name, _IMPOSES[verb], reason, who.name, now_ms)
        await commands.restrict(tx, imposed, who.actor)
    return Outcome(target=target, name=name, restriction=RestrictionView.model_validate(imposed))


async def _refuse_unknown(tx: ReadTx, target: Target, name: str) -> None:
    match target:
        case Target.POOL:
            known = {one.pool for one in await fleet.all_slices(tx)}
        case Target.SLICE:
            known = {str(one.id) for one in await fleet.all_slices(tx)}
        case Target.HOST:
            known = {f"{one.slice_id}/{one.host}" for one in await restrictions.all_hosts(tx)}
    if name not in known:
        raise NotFound(f"there is no {target} {name[:80]!r}")
