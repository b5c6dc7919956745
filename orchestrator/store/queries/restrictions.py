"""What admins took out of the fleet, and the hosts that clusters described."""

from sqlalchemy import select

from orchestrator.domain.fleet import Host, Limit, Restriction, Target
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import hosts, restrictions


async def all_restrictions(tx: ReadTx) -> tuple[Restriction, ...]:
    found = await tx.ask(select(restrictions).order_by(restrictions.c.target, restrictions.c.name))
    return tuple(
        Restriction(Target(row.target), row.name, Limit(row.imposed), row.reason, row.actor, row.at_ms) for row in found
    )


async def all_hosts(tx: ReadTx) -> tuple[Host, ...]:
    found = await tx.ask(select(hosts).order_by(hosts.c.slice_id, hosts.c.host))
    return tuple(Host(row.slice_id, row.host, row.node_id, row.address, row.chips) for row in found)
