"""Forget what is older than the settings say. What jobs were and how they ended is kept."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, select

from orchestrator.domain.ids import AttemptId, JobId
from orchestrator.store.database import ReadTx, WriteTx
from orchestrator.store.schema import artifacts, attempts, deliveries, events, points

_AT_ONCE: Final = 5_000
"""Rows of one transaction: others must not wait long for it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """For how long things are kept, ms; None: for ever."""

    events_ms: int | None = None
    metrics_ms: int | None = None
    logs_ms: int | None = None
    artifacts_ms: int | None = None
    unnamed_bundles_ms: int = 7 * 86_400_000
    """Of bundles that no job names: how long they wait for one."""


async def forget_events(tx: WriteTx, before_ms: int) -> int:
    """How many events and webhook deliveries of before that moment are gone now."""
    old = select(events.c.id).where(events.c.at_ms < before_ms).order_by(events.c.id).limit(_AT_ONCE)
    gone = await tx.tell(delete(events).where(events.c.id.in_(old)))
    told = select(deliveries.c.row_id).where(deliveries.c.at_ms < before_ms, deliveries.c.next_at_ms.is_(None))
    log = await tx.tell(delete(deliveries).where(deliveries.c.row_id.in_(told.limit(_AT_ONCE))))
    return gone.rowcount + log.rowcount


async def forget_metrics(tx: WriteTx, before_ms: int) -> int:
    """How many points are gone now, of attempts that ended before that moment."""
    return sum([await _forget_points(tx, one) for one in await _ended(tx, before_ms)])


async def forget_artifacts(tx: WriteTx, before_ms: int) -> tuple[tuple[JobId, AttemptId], ...]:
    """Forget those of some attempts that ended before that moment; the attempts, whose blobs are to be removed."""
    there = select(artifacts.c.attempt_id).where(artifacts.c.attempt_id == attempts.c.id).exists()
    asked = select(attempts.c.job_id, attempts.c.id).where(attempts.c.ended_at_ms < before_ms, there).limit(20)
    found = tuple((JobId(row.job_id), AttemptId(row.id)) for row in await tx.ask(asked))
    for _, attempt_id in found:
        await tx.tell(delete(artifacts).where(artifacts.c.attempt_id == attempt_id))
    return found


async def ended_before(tx: ReadTx, before_ms: int) -> tuple[tuple[JobId, AttemptId], ...]:
    """Attempts that ended before that moment, with their jobs."""
    asked = select(attempts.c.job_id, attempts.c.id).where(attempts.c.ended_at_ms < before_ms)
    return tuple((JobId(row.job_id), AttemptId(row.id)) for row in await tx.ask(asked))


async def _ended(tx: ReadTx, before_ms: int) -> tuple[str, ...]:
    """Some of the attempts that ended before that moment and have points."""
    with_points = select(points.c.attempt_id).where(points.c.attempt_id == attempts.c.id).exists()
    asked = select(attempts.c.id).where(attempts.c.ended_at_ms < before_ms, with_points).limit(20)
    return tuple((await tx.ask(asked)).scalars())


async def _forget_points(tx: WriteTx, attempt_id: str) -> int:
    return (await tx.tell(delete(points).where(points.c.attempt_id == attempt_id))).rowcount
