"""Append to the history."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, update

from orchestrator.domain.job import Event
from orchestrator.store import rows
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import events, jobs, meta


async def append(tx: WriteTx, new: Sequence[Event]) -> None:
    """Write the events in this order; each event of a job takes the job's next number."""
    numbered: list[dict[str, Any]] = []
    for event in new:
        sequence, project = None, event.project
        if event.job_id is not None:
            counted = update(jobs).where(jobs.c.id == event.job_id).values(events=jobs.c.events + 1)
            counts = (await tx.tell(counted.returning(jobs.c.events, jobs.c.project))).one()
            sequence, project = counts.events, counts.project
        numbered.append({**rows.event_row(event), "sequence": sequence, "project": project})
    if numbered:
        await tx.tell(insert(events), numbered)


async def stir(tx: WriteTx) -> None:
    """Make the leader look again: something that decisions depend on has changed."""
    await tx.tell(update(meta).values(revision=meta.c.revision + 1))
