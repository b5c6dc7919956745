"""The history."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import func, select

from orchestrator.domain.ids import JobId
from orchestrator.domain.job import Event
from orchestrator.store import rows
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import events


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event with its numbers: `id` among all, `sequence` among its job's, which has no gap."""

    id: int
    sequence: int | None
    event: Event


async def since(
    tx: ReadTx,
    after_id: int,
    job_id: JobId | None,
    limit: int,
    projects: Collection[str] | None = None,
    *,
    kind: str | None = None,
    actor: str | None = None,
) -> tuple[Recorded, ...]:
    """At most `limit` events after `after_id`, oldest first; of one job, of some projects, or all (None)."""
    asked = select(events).where(events.c.id > after_id).order_by(events.c.id).limit(limit)
    if job_id is not None:
        asked = asked.where(events.c.job_id == job_id)
    elif projects is not None:
        asked = asked.where(events.c.project.in_(projects))
    if kind is not None:
        asked = asked.where(events.c.kind.startswith(kind, autoescape=True))
    if actor is not None:
        asked = asked.where(events.c.actor == actor)
    found = (await tx.ask(asked)).mappings()
    return tuple(Recorded(row["id"], row["sequence"], rows.event_of(row)) for row in found)


async def by_ids(tx: ReadTx, ids: Collection[int]) -> dict[int, Recorded]:
    """Those of them that are still kept."""
    found = (await tx.ask(select(events).where(events.c.id.in_(sorted(ids))))).mappings()
    return {row["id"]: Recorded(row["id"], row["sequence"], rows.event_of(row)) for row in found}


async def last_id(tx: ReadTx) -> int:
    return int((await tx.ask(select(func.max(events.c.id)))).scalar_one() or 0)
