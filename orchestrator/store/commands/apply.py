"""Write what a tick decided. Each job's changes land whole or not at all, and never hinder those of another job."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from orchestrator.changes import Changes, JobChange, SliceChange
from orchestrator.domain.ids import ClusterId, JobId
from orchestrator.domain.job import Attempt
from orchestrator.domain.lifecycle import JobState
from orchestrator.store import lease, rows
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.lease import Lease
from orchestrator.store.schema import attempts, clusters, facts, jobs, placements, ranks, slices


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a tick's changes."""

    jobs: int
    dropped: tuple[JobId, ...]
    """Jobs that somebody else moved since they were read, or whose slices were taken; the next tick sees them anew."""


class _Refused(Exception):
    """The database does not take this job's changes."""

    def __init__(self, change: JobChange) -> None:
        self.change = change


async def apply(tx: WriteTx, changes: Changes, held: Lease) -> Applied:
    """Write the changes under the leader's lease.

    All jobs share one savepoint, and when the database refuses one job's changes, it is rolled back and the others are
    written anew. A savepoint for each job would not do: two jobs may swap slices in one tick, and then every placement
    that ends has to go before any begins.

    Raises:
        LeaseLost: another process leads; nothing is written.
    """
    await lease.hold(tx, held)
    for change in changes.slices:
        await _write_slice(tx, change)
    dropped: list[JobId] = []
    wanted = list(changes.jobs)
    while True:
        try:
            async with tx.savepoint():
                written = await _write_jobs(tx, wanted)
            break
        except _Refused as refused:
            wanted.remove(refused.change)
            dropped.append(refused.change.job.id)
    stale = [change.job.id for change in wanted if change.job.id not in written]
    await _explain_waits(tx, changes.waits)
    await _forget_facts(tx, changes.ignored)
    if not changes.empty:
        await events.stir(tx)
    return Applied(len(written), (*dropped, *stale))


async def _write_slice(tx: WriteTx, change: SliceChange) -> None:
    await tx.put(slices, [rows.slice_row(change.slice)])
    await events.append(tx, change.events)
    await _forget_facts(tx, change.folded)


async def _write_jobs(tx: WriteTx, wanted: Sequence[JobChange]) -> frozenset[JobId]:
    """The jobs that passed their fence. Endings are written before beginnings, so that freed slices are free."""
    fenced = [change for change in wanted if await _passes_fence(tx, change)]
    reordered: set[ClusterId] = set()
    for change in fenced:
        if change.attempt is not None and await _write_attempt(tx, change.attempt, _decided_at_ms(change)):
            reordered.add(change.attempt.cluster_id)
    for change in fenced:
        try:
            await _write_rest(tx, change)
        except IntegrityError as error:
            raise _Refused(change) from error
        if change.started is not None:
            reordered.add(change.started.cluster_id)
    moved = update(clusters).where(clusters.c.id.in_(reordered))
    await tx.tell(moved.values(order_revision=clusters.c.order_revision + 1))
    return frozenset(change.job.id for change in fenced)


async def _passes_fence(tx: WriteTx, change: JobChange) -> bool:
    fence = (jobs.c.id == change.job.id) & (jobs.c.version == change.seen_version)
    moved = await tx.tell(update(jobs).where(fence).values(rows.job_state_row(change.job)))
    return moved.rowcount == 1


def _decided_at_ms(change: JobChange) -> int | None:
    """The tick's own moment, which its events carry; an attempt's end bears the time of its host."""
    return max((event.at_ms for event in change.events), default=None)


async def _write_attempt(tx: WriteTx, attempt: Attempt, now_ms: int | None) -> bool:
    """Write a live attempt's new face; whether its cluster's orders change by it."""
    row = rows.attempt_row(attempt)
    live = (attempts.c.id == attempt.id) & attempts.c.ended_at_ms.is_(None)
    before = (await tx.ask(select(attempts.c.stop).where(live))).one_or_none()
    if before is None:
        return False
    await tx.tell(update(attempts).where(live).values(row))
    if not attempt.live:
        closed_at_ms = attempt.ended_at_ms if now_ms is None else now_ms
        await tx.tell(update(attempts).where(attempts.c.id == attempt.id).values(closed_at_ms=closed_at_ms))
        await tx.tell(delete(placements).where(placements.c.attempt_id == attempt.id))
        await tx.tell(update(slices).where(slices.c.id.in_(attempt.slices)).values(idle_since_ms=closed_at_ms))
    return not attempt.live or before.stop != row["stop"]


async def _write_rest(tx: WriteTx, change: JobChange) -> None:
    if change.started is not None:
        await tx.tell(insert(attempts).values(rows.attempt_row(change.started)))
        held = [{"slice_id": slice_id, "attempt_id": change.started.id} for slice_id in change.started.slices]
        await tx.tell(insert(placements), held)
    if change.attempt is not None:
        started = [
            {
                "attempt_id": change.attempt.id,
                "rank": r.rank,
                "slice_id": r.slice_id,
                "host": r.host,
                "pid": r.pid,
                "started_at_ms": r.started_at_ms,
            }
            for r in change.ranks
        ]
        await tx.put(ranks, started)
    await events.append(tx, change.events)
    await _forget_facts(tx, change.folded)


async def _explain_waits(tx: WriteTx, waits: Iterable[tuple[str, str]]) -> None:
    for job_id, why in waits:
        waiting = (jobs.c.id == job_id) & (jobs.c.state == JobState.QUEUED.value)
        await tx.tell(update(jobs).where(waiting).values(message=why, version=jobs.c.version + 1))


async def _forget_facts(tx: WriteTx, row_ids: Sequence[int]) -> None:
    if row_ids:
        gone = delete(facts).where(facts.c.row_id == bindparam("taken_in"))
        await tx.tell(gone, [{"taken_in": row_id} for row_id in row_ids])
