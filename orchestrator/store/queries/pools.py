"""What may be asked of each pool's provider, and what is wished of it."""

from sqlalchemy import select

from orchestrator.domain.ids import ClusterId
from orchestrator.domain.sharing import PoolLimits, PoolWish
from orchestrator.store import queue_rows
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import pool_limits


async def limits(tx: ReadTx) -> dict[PoolLimits, PoolWish]:
    """Every pool that has limits, with what is wished of it."""
    asked = select(pool_limits).order_by(pool_limits.c.cluster_id, pool_limits.c.pool)
    found = (await tx.ask(asked)).mappings()
    return {queue_rows.limits_of(row): queue_rows.wish_of(row) for row in found}


async def by_name(tx: ReadTx) -> dict[tuple[ClusterId, str], tuple[PoolLimits, PoolWish]]:
    return {(one.cluster_id, str(one.pool)): (one, wish) for one, wish in (await limits(tx)).items()}
