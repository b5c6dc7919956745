"""Take parts of the fleet out, and let them back in."""

from sqlalchemy import delete

from orchestrator.domain.access import Actor
from orchestrator.domain.errors import Conflict
from orchestrator.domain.fleet import Restriction, Target
from orchestrator.domain.ids import SliceId
from orchestrator.domain.job import Event
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import restrictions


async def restrict(tx: WriteTx, wanted: Restriction, by: Actor) -> None:
    """Impose the restriction, in place of one that the target may have."""
    row = {
        "target": wanted.target.value,
        "name": wanted.name,
        "imposed": wanted.limit.value,
        "reason": wanted.reason,
        "actor": wanted.actor,
        "at_ms": wanted.at_ms,
    }
    await tx.put(restrictions, [row])
    said = f"{wanted.target} {wanted.name} is {wanted.limit}: {wanted.reason}"
    await _tell(tx, wanted.target, wanted.name, Event(f"fleet.{wanted.limit}", wanted.at_ms, said, by=by))


async def readmit(tx: WriteTx, target: Target, name: str, reason: str, now_ms: int, by: Actor) -> None:
    """Take the target's restriction away.

    Raises:
        Conflict: it has none.
    """
    gone = await tx.tell(delete(restrictions).where(restrictions.c.target == target.value, restrictions.c.name == name))
    if not gone.rowcount:
        raise Conflict(f"{target} {name} is not restricted")
    said = f"{target} {name} is readmitted: {reason}"
    await _tell(tx, target, name, Event("fleet.readmitted", now_ms, said, by=by))


async def _tell(tx: WriteTx, target: Target, name: str, event: Event) -> None:
    slice_id = None if target is Target.POOL else SliceId(name.rpartition("/")[0] if target is Target.HOST else name)
    told = Event(event.kind, event.at_ms, event.message, slice_id=slice_id, by=event.by)
    await events.append(tx, [told])
    await events.stir(tx)
