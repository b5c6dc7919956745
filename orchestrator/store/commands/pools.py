"""Set what may be asked of a pool's provider, and keep what is wished of it."""

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, update

from orchestrator.domain.access import Actor
from orchestrator.domain.errors import Conflict
from orchestrator.domain.ids import ClusterId
from orchestrator.domain.job import Event
from orchestrator.domain.sharing import PoolLimits, PoolWish
from orchestrator.store import queue_rows
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import pool_limits


async def set_limits(tx: WriteTx, limits: Sequence[PoolLimits], now_ms: int, by: Actor) -> None:
    """Of one pool, in each cluster that has it."""
    await tx.put(pool_limits, [queue_rows.limits_row(one) for one in limits])
    first = limits[0]
    said = f"pool {first.pool} may have {first.least} to {first.most} slices"
    await events.append(tx, [Event("pool.limited", now_ms, said, by=by)])
    await events.stir(tx)


async def remove_limits(tx: WriteTx, pool: str, now_ms: int, by: Actor) -> None:
    """Raises Conflict: the pool has none."""
    gone = await tx.tell(delete(pool_limits).where(pool_limits.c.pool == pool))
    if not gone.rowcount:
        raise Conflict(f"pool {pool} has no limits")
    await events.append(tx, [Event("pool.unlimited", now_ms, f"nothing is wished of pool {pool} any more", by=by)])
    await events.stir(tx)


async def keep_wishes(tx: WriteTx, wished: Mapping[tuple[ClusterId, str], PoolWish]) -> None:
    for (cluster_id, pool), wish in wished.items():
        mine = (pool_limits.c.cluster_id == cluster_id) & (pool_limits.c.pool == pool)
        await tx.tell(update(pool_limits).where(mine).values(queue_rows.wish_values(wish)))
