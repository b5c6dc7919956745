"""One tick: load, decide, commit. Level-triggered: what a tick that dies leaves undone, the next one sees."""

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.changes import Changes
from orchestrator.domain.ids import JobId, NewId
from orchestrator.store.commands.apply import apply
from orchestrator.store.database import Database
from orchestrator.store.lease import Lease
from orchestrator.store.queries.revision import revision
from orchestrator.store.queries.world import world as read_world
from orchestrator.world import World

Decide = Callable[[World, NewId], Changes]


@dataclass(frozen=True, slots=True)
class TickReport:
    """What a tick saw and did."""

    revision: int
    """Of the world that it read. While it stays, only time can change a decision."""
    due_at_ms: int | None
    """When it does."""
    applied: int = 0
    dropped: tuple[JobId, ...] = ()
    defects: tuple[str, ...] = ()
    """Jobs that our own rules could not decide, and why."""


async def tick(database: Database, decide: Decide, held: Lease, new_id: NewId, now_ms: int) -> TickReport:
    """Decide once.

    Raises:
        LeaseLost: another process leads; nothing was written.
    """
    async with database.read() as tx:
        seen = await revision(tx)
        world = await read_world(tx, now_ms, held.epoch)
    changes = decide(world, new_id)
    if changes.empty:
        return TickReport(seen, changes.due_at_ms, defects=changes.defects)
    async with database.write() as tx:
        applied = await apply(tx, changes, held)
    return TickReport(seen, changes.due_at_ms, applied.jobs, applied.dropped, changes.defects)
