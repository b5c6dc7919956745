"""Declare when parts of the fleet are out, and take it back."""

from sqlalchemy import delete, insert

from orchestrator.domain.access import Actor
from orchestrator.domain.fleet import Maintenance, Target
from orchestrator.domain.ids import SliceId
from orchestrator.domain.job import Event
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import maintenance


async def declare(tx: WriteTx, new: Maintenance, by: Actor) -> None:
    row = {
        "id": new.id,
        "target": new.target.value,
        "name": new.name,
        "since_ms": new.since_ms,
        "until_ms": new.until_ms,
        "reason": new.reason,
        "actor": new.actor,
        "at_ms": new.at_ms,
    }
    await tx.tell(insert(maintenance).values(row))
    await _tell(tx, new, "declared", f"maintenance of {new.target} {new.name} is declared: {new.reason}", new.at_ms, by)


async def withdraw(tx: WriteTx, gone: Maintenance, now_ms: int, by: Actor) -> None:
    await tx.tell(delete(maintenance).where(maintenance.c.id == gone.id))
    await _tell(tx, gone, "withdrawn", f"maintenance of {gone.target} {gone.name} is withdrawn", now_ms, by)


async def _tell(tx: WriteTx, about: Maintenance, what: str, said: str, at_ms: int, by: Actor) -> None:
    slice_id = SliceId(about.name) if about.target is Target.SLICE else None
    span = (("since_ms", about.since_ms), ("until_ms", about.until_ms))
    event = Event(f"maintenance.{what}", at_ms, said, slice_id=slice_id, data=(("id", about.id), *span), by=by)
    await events.append(tx, [event])
    await events.stir(tx)
