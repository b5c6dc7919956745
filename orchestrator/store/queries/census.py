"""How many there are of everything, for monitoring."""

from dataclasses import dataclass

from sqlalchemy import func, select

from orchestrator.store.database import ReadTx
from orchestrator.store.schema import clusters, deliveries, events, facts, jobs, leases, placements, slices


@dataclass(frozen=True, slots=True)
class Census:
    jobs: dict[str, int]
    """By state."""
    slices: dict[tuple[str, str], int]
    """By pool and state."""
    busy_slices: int
    clusters_seen_at_ms: dict[str, int]
    facts: int
    """Not yet taken in by a tick."""
    newest_event: int
    leader_epoch: int
    deliveries: dict[str, int]
    """By state."""


async def census(tx: ReadTx) -> Census:
    count = func.count().label("n")
    by_state = await tx.ask(select(jobs.c.state, count).group_by(jobs.c.state))
    by_pool = await tx.ask(select(slices.c.pool, slices.c.state, count).group_by(slices.c.pool, slices.c.state))
    told = await tx.ask(select(deliveries.c.state, count).group_by(deliveries.c.state))
    seen = await tx.ask(select(clusters.c.id, clusters.c.seen_at_ms))
    return Census(
        jobs={row.state: row.n for row in by_state},
        slices={(row.pool, row.state): row.n for row in by_pool},
        busy_slices=int((await tx.ask(select(func.count()).select_from(placements))).scalar_one()),
        clusters_seen_at_ms={row.id: row.seen_at_ms for row in seen},
        facts=int((await tx.ask(select(func.count()).select_from(facts))).scalar_one()),
        newest_event=int((await tx.ask(select(func.max(events.c.id)))).scalar_one() or 0),
        leader_epoch=int((await tx.ask(select(func.max(leases.c.epoch)))).scalar_one() or 0),
        deliveries={row.state: row.n for row in told},
    )
