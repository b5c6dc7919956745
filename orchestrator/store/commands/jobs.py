"""What users want: new jobs and cancellations. Intent only; states are the tick's."""

import hashlib
from dataclasses import dataclass

from sqlalchemy import insert, select, update

from orchestrator.domain.errors import Conflict, NotFound
from orchestrator.domain.ids import JobId
from orchestrator.domain.job import Desired, Event, Job
from orchestrator.domain.lifecycle import TERMINAL, JobState
from orchestrator.domain.spec import JobSpec
from orchestrator.store import rows
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import idempotency, jobs


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A client's name for one submission. The same key and body is the same submission, however often sent."""

    token_hash: str
    key: str


async def submit(
    tx: WriteTx, spec: JobSpec, job_id: JobId, now_ms: int, key: IdempotencyKey | None = None
) -> tuple[JobId, bool]:
    """Queue a job; its id, and whether it is new.

    Raises:
        Conflict: the key was used with another spec.
    """
    body_hash = hashlib.sha256(rows.SPEC.dump_json(spec)).hexdigest()
    if key is not None and (earlier := await _earlier(tx, key, body_hash)):
        return earlier, False
    job = Job(job_id, spec, JobState.QUEUED, Desired.RUN, version=1, created_at_ms=now_ms, queued_at_ms=now_ms)
    await tx.tell(insert(jobs).values(rows.new_job_row(job)))
    await events.append(tx, [Event("job.submitted", now_ms, f"{spec.name} was submitted", job_id)])
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


async def cancel(tx: WriteTx, job_id: JobId, now_ms: int) -> None:
    """Ask for the job's end; asking again changes nothing.

    Raises:
        NotFound: no such job.
        Conflict: it ended in another way.
    """
    found = (await tx.ask(select(jobs.c.state, jobs.c.desired).where(jobs.c.id == job_id))).one_or_none()
    if found is None:
        raise NotFound(f"there is no job {job_id}")
    state = JobState(found.state)
    if state is JobState.CANCELLED or (state not in TERMINAL and found.desired == Desired.CANCELLED):
        return
    if state in TERMINAL:
        raise Conflict(f"job {job_id} has already ended: {state}")
    await tx.tell(
        update(jobs).where(jobs.c.id == job_id).values(desired=Desired.CANCELLED.value, version=jobs.c.version + 1)
    )
    await events.append(tx, [Event("job.cancel_requested", now_ms, "asked to cancel", job_id)])
    await events.stir(tx)


async def hold(tx: WriteTx, job_id: JobId) -> None:
    """Let nobody else change the job until this transaction ends."""
    await tx.ask(select(jobs.c.id).where(jobs.c.id == job_id).with_for_update(key_share=True))
