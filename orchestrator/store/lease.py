"""The leader's lease: one row. Who holds it ticks; every change of holder raises the epoch."""

from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import insert, select, update

from orchestrator.domain.errors import Conflict
from orchestrator.store.database import ReadTx, WriteTx
from orchestrator.store.schema import clusters, leases

_LEADER: Final = "leader"
_NOBODY: Final = ""


class LeaseLost(Conflict):
    """Another process leads now; nothing was written."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The row as it was read. `version` moves with every renewal; time plays no part in it."""

    holder: str
    epoch: int
    version: int

    @property
    def free(self) -> bool:
        return self.holder == _NOBODY


async def read(tx: ReadTx) -> Lease | None:
    found = (await tx.ask(select(leases).where(leases.c.name == _LEADER))).mappings().one_or_none()
    return None if found is None else Lease(found["holder"], found["epoch"], found["version"])


async def take(tx: WriteTx, holder: str, seen: Lease | None) -> Lease | None:
    """Become the leader, if the row is still as `seen`; None if somebody moved first."""
    if seen is None:
        taken = Lease(holder, epoch=1, version=1)
        if await read(tx) is not None:
            return None
        await tx.tell(insert(leases).values(name=_LEADER, holder=holder, epoch=1, version=1))
    else:
        taken = Lease(holder, seen.epoch + 1, seen.version + 1)
        if not await _move(tx, seen, taken):
            return None
    # Orders carry the epoch, so every cluster has to hear of the new one.
    await tx.tell(update(clusters).values(order_revision=clusters.c.order_revision + 1))
    return taken


async def renew(tx: WriteTx, held: Lease) -> Lease | None:
    """Show that the leader lives; None if the lease is somebody else's by now."""
    renewed = replace(held, version=held.version + 1)
    return renewed if await _move(tx, held, renewed) else None


async def release(tx: WriteTx, held: Lease) -> None:
    """Let a successor take over at once."""
    await _move(tx, held, Lease(_NOBODY, held.epoch, held.version + 1))


async def hold(tx: WriteTx, held: Lease) -> None:
    """Make sure, until this transaction ends, that nobody takes the lease.

    Raises:
        LeaseLost: somebody did.
    """
    now = (await tx.ask(select(leases).where(leases.c.name == _LEADER).with_for_update())).mappings().one_or_none()
    if now is None or (now["holder"], now["epoch"]) != (held.holder, held.epoch):
        raise LeaseLost


async def _move(tx: WriteTx, seen: Lease, to: Lease) -> bool:
    moved = await tx.tell(
        update(leases)
        .where(leases.c.name == _LEADER, leases.c.epoch == seen.epoch, leases.c.version == seen.version)
        .values(holder=to.holder, epoch=to.epoch, version=to.version)
    )
    return moved.rowcount == 1
