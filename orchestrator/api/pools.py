"""How many slices a pool may have: what is wished of it stays within these. For global admins."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from orchestrator.api.auth import GlobalAdmin
from orchestrator.api.deps import WithDeps
from orchestrator.api.fleet import LimitsView
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.domain.errors import Conflict, Fault, InvalidInput, NotFound
from orchestrator.domain.ids import PoolName
from orchestrator.domain.sharing import PoolLimits
from orchestrator.store.commands import pools as commands
from orchestrator.store.queries import fleet

router = APIRouter(prefix="/api/v1/pools/{pool}/limits", tags=["fleet"], route_class=StrictRoute)

Slices = Annotated[int, Field(strict=True, ge=0, le=100_000)]


class Limits(Asked):
    least: Slices = 0
    most: Slices


@router.put("")
async def set_limits(pool: str, body: Limits, who: GlobalAdmin, deps: WithDeps) -> LimitsView:
    """From now on the scheduler wishes for slices of the pool, or that idle ones go; it is shown with the pool."""
    if body.least > body.most:
        raise InvalidInput((Fault("least", f"at most {body.most}, as `most` says, got {body.least}"),))
    async with deps.database.write() as tx:
        mine = {(one.cluster_id, one.shape): one for one in await fleet.all_slices(tx) if one.pool == pool}
        if not mine:
            raise NotFound(f"there is no pool {pool[:80]!r}")
        if len({cluster_id for cluster_id, _ in mine}) < len(mine):
            raise Conflict(f"pool {pool} has slices of several shapes: what is wished of it could be any of them")
        limits = [
            PoolLimits(one.cluster_id, PoolName(pool), one.shape, one.capacity, body.least, body.most)
            for one in mine.values()
        ]
        await commands.set_limits(tx, limits, deps.clock.now_ms(), who.actor)
    return LimitsView(least=body.least, most=body.most)


@router.delete("", status_code=204, response_class=Response)
async def remove_limits(pool: str, who: GlobalAdmin, deps: WithDeps) -> None:
    """Nothing is wished of the pool any more."""
    async with deps.database.write() as tx:
        await commands.remove_limits(tx, pool, deps.clock.now_ms(), who.actor)
