"""What users want: new jobs, and changes of those that are there. Intent only; states are the tick's."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select, update

from orchestrator.domain.access import Actor
from orchestrator.domain.errors import Conflict, Stale
from orchestrator.domain.ids import JobId
from orchestrator.domain.job import ArrayPlace, Desired, Event, Job
from orchestrator.domain.lifecycle import TERMINAL, JobState
from orchestrator.domain.spec import JobSpec
from orchestrator.store import rows
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.queries import jobs as queries
from orchestrator.store.schema import events as event_rows
from orchestrator.store.schema import idempotency, jobs
from orchestrator.store.specs import SPEC


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A client's name for one submission. The same key and body is the same submission, however often sent."""

    token_hash: str
    key: str


@dataclass(frozen=True, slots=True)
class Descent:
    """Where a job comes from, besides its spec."""

    origin: JobId | None = None
    array: ArrayPlace | None = None


async def submit(
    tx: WriteTx,
    spec: JobSpec,
    job_id: JobId,
    now_ms: int,
    key: IdempotencyKey | None = None,
    *,
    by: Actor | None = None,
    descent: Descent | None = None,
) -> tuple[JobId, bool]:
    """Queue a job, or block it until it may be queued; its id, and whether it is new.

    Raises:
        Conflict: the key was used with another spec.
    """
    body_hash = hashlib.sha256(SPEC.dump_json(spec)).hexdigest()
    if key is not None and (earlier := await _earlier(tx, key, body_hash)):
        return earlier, False
    of = descent or Descent()
    gated = bool(spec.after.each) or of.array is not None
    job = Job(
        job_id,
        spec,
        JobState.BLOCKED if gated else JobState.QUEUED,
        Desired.RUN,
        version=1,
        created_at_ms=now_ms,
        queued_at_ms=now_ms,
        owner=by.name if by else None,
        origin=of.origin,
        array=of.array,
    )
    said = f"{spec.name} was submitted" + (f", after {of.origin}" if of.origin else "")
    first = Event("job.submitted", now_ms, said, job_id, project=spec.project, by=by)
    # Its first event needs no counting: submissions are what users wait for.
    await tx.tell(insert(jobs).values(rows.new_job_row(job) | {"events": 1}))
    await tx.tell(insert(event_rows).values(rows.event_row(first) | {"sequence": 1}))
    if key is not None:
        kept = {"token_hash": key.token_hash, "key": key.key, "body_hash": body_hash, "created_at_ms": now_ms}
        await tx.tell(insert(idempotency).values(job_id=job_id, **kept))
    await events.stir(tx)
    return job_id, True


async def _earlier(tx: WriteTx, key: IdempotencyKey, body_hash: str) -> JobId | None:
    found = (
        await tx.ask(
            select(idempotency).where(idempotency.c.token_hash == key.token_hash, idempotency.c.key == key.key)
        )
    ).one_or_none()
    if found is None:
        return None
    if found.body_hash != body_hash:
        raise Conflict(f"this Idempotency-Key was used for job {found.job_id} with another body")
    return JobId(found.job_id)


def expect(job: Job, version: int | None) -> None:
    """Make sure that the job is still as the caller saw it.

    Raises:
        Stale: it was changed since.
    """
    if version is not None and job.version != version:
        raise Stale(f"job {job.id} is at version {job.version}, not {version}; look at it again")


async def cancel(tx: WriteTx, job_id: JobId, now_ms: int, by: Actor | None = None) -> None:
    """Ask for the job's end; asking again changes nothing.

    Raises:
        NotFound: no such job.
        Conflict: it ended in another way.
    """
    job = await queries.by_id(tx, job_id)
    if job.state is JobState.CANCELLED or (job.state not in TERMINAL and job.desired is Desired.CANCELLED):
        return
    await _want(tx, job, Desired.CANCELLED, Event("job.cancel_requested", now_ms, "asked to cancel", job_id, by=by))


async def hold(tx: WriteTx, job_id: JobId, now_ms: int, by: Actor | None = None) -> None:
    """Keep the job from running until it is released; a live attempt is stopped, and its place in the queue is kept.

    Raises:
        NotFound: no such job.
        Conflict: it has ended, or is being cancelled.
    """
    job = await queries.by_id(tx, job_id)
    if job.desired is Desired.HELD and job.state not in TERMINAL:
        return
    await _want(tx, job, Desired.HELD, Event("job.hold_requested", now_ms, "asked to hold", job_id, by=by))


async def release(tx: WriteTx, job_id: JobId, now_ms: int, by: Actor | None = None) -> None:
    """Let a held job run; of one that is not held nothing changes.

    Raises:
        NotFound: no such job.
        Conflict: it has ended, or is being cancelled.
    """
    job = await queries.by_id(tx, job_id)
    if job.desired is Desired.RUN and job.state not in TERMINAL:
        return
    await _want(tx, job, Desired.RUN, Event("job.release_requested", now_ms, "asked to release", job_id, by=by))


async def change_priority(tx: WriteTx, job_id: JobId, priority: str, now_ms: int, by: Actor | None = None) -> None:
    """Give the job another priority. A running attempt keeps the one with which it started.

    Raises:
        NotFound: no such job.
        Conflict: it has ended.
    """
    job = await queries.by_id(tx, job_id)
    _refuse_ended(job)
    if job.spec.priority == priority:
        return
    said = f"priority changed from {job.spec.priority} to {priority}"
    await _change(tx, job, {"priority": priority}, Event("job.priority_changed", now_ms, said, job_id, by=by))


async def lock(tx: WriteTx, job_ids: Collection[JobId]) -> None:
    """Let nobody else change these jobs until this transaction ends. In one order, lest two wait for each other."""
    theirs = select(jobs.c.id).where(jobs.c.id.in_(job_ids)).order_by(jobs.c.id)
    await tx.ask(theirs.with_for_update(key_share=True))


async def _want(tx: WriteTx, job: Job, desired: Desired, event: Event) -> None:
    _refuse_ended(job)
    if job.desired is Desired.CANCELLED:
        raise Conflict(f"job {job.id} is being cancelled")
    await _change(tx, job, {"desired": desired.value}, event)


def _refuse_ended(job: Job) -> None:
    if job.state in TERMINAL:
        raise Conflict(f"job {job.id} has already ended: {job.state}")


async def _change(tx: WriteTx, job: Job, values: dict[str, Any], event: Event) -> None:
    await tx.tell(update(jobs).where(jobs.c.id == job.id).values(version=jobs.c.version + 1, **values))
    await events.append(tx, [event])
    await events.stir(tx)
