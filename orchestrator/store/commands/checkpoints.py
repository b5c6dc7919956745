"""What users and retention want of committed steps: pins, notes, deletions. Clusters do the deleting, by errand."""

from collections.abc import Iterable

from sqlalchemy import update

from orchestrator.checkpoints.retention import expired
from orchestrator.domain.errors import Conflict
from orchestrator.domain.ids import JobId, NewId
from orchestrator.domain.job import Event, Job
from orchestrator.domain.lifecycle import TERMINAL
from orchestrator.store.commands import errands, events
from orchestrator.store.database import WriteTx
from orchestrator.store.queries import checkpoints as queries
from orchestrator.store.queries.checkpoints import Registered
from orchestrator.store.schema import checkpoints

_AT_ONCE = 5_000
ASK_AGAIN_MS = 10 * 60_000
"""So long after a deletion that failed it is asked for again."""
ORPHANS_AFTER_MS = 25 * 3_600_000
"""An attempt that ended so long ago has left-overs that are past the age limit of clusters, by an hour."""


async def pin(tx: WriteTx, saved: Registered, pinned: bool, note: str | None, now_ms: int) -> None:
    """Keep a step from retention and deletion, or no longer; a note says why.

    Raises:
        Conflict: it is being deleted, or gone.
    """
    if saved.state in ("deleting", "deleted"):
        raise Conflict(f"checkpoint {saved.path} is {saved.state}: too late to pin it")
    values: dict[str, object] = {"pinned": int(pinned)}
    if note is not None:
        values["note"] = note
    await tx.tell(update(checkpoints).where(_is(saved.job_id, saved.path)).values(values))
    kind, says = ("checkpoint.pinned", "pinned") if pinned else ("checkpoint.unpinned", "no longer pinned")
    message = f"checkpoint {saved.path} is {says}" + (f": {note}" if note else "")
    await events.append(tx, [Event(kind, now_ms, message, saved.job_id, data=(("path", saved.path),))])


async def delete(tx: WriteTx, saved: Registered, newest: Registered | None, new_id: NewId, now_ms: int) -> None:
    """Have a step deleted; asking again changes nothing.

    Raises:
        Conflict: it is pinned, or the newest commit.
    """
    if saved.state in ("deleting", "deleted"):
        return
    errands.refuse_foreign(saved)
    if saved.pinned:
        raise Conflict(f"checkpoint {saved.path} is pinned; unpin it first")
    if newest is not None and saved.path == newest.path:
        raise Conflict(f"checkpoint {saved.path} is the newest commit, from which the job goes on")
    await _ask_to_delete(tx, saved.job_id, [saved.path], new_id, now_ms, "asked for")


async def sweep(tx: WriteTx, new_id: NewId, now_ms: int) -> int:
    """Have all steps deleted that no policy keeps; how many."""
    owners = await queries.retained_jobs(tx)
    policies = {job.id: job.spec.checkpoint for job in owners}
    asked = 0
    for job_id, steps in (await queries.keepable(tx, owners)).items():
        gone = expired(steps, policies[job_id], now_ms)[:_AT_ONCE]
        if gone:
            paths = [f"{one.attempt}/{one.step}" for one in gone]
            await _ask_to_delete(tx, job_id, paths, new_id, now_ms, "retention")
            asked += len(paths)
    for job_id, paths in (await queries.half_deleted(tx, now_ms - ASK_AGAIN_MS, _AT_ONCE)).items():
        await _ask_to_delete(tx, job_id, paths, new_id, now_ms, "the deletion failed, and is tried again")
        asked += len(paths)
    return asked


async def sweep_orphans(tx: WriteTx, new_id: NewId, now_ms: int) -> int:
    """Have the left-overs of dead attempts looked for, once a day after each attempt's end; of how many jobs."""
    jobs = await queries.with_old_attempts(tx, now_ms, ORPHANS_AFTER_MS)
    for job in jobs:
        await ask_for_orphans(tx, job, new_id, now_ms)
    return len(jobs)


async def ask_for_orphans(tx: WriteTx, job: Job, new_id: NewId, now_ms: int) -> str:
    """Have the left-overs of the job's dead attempts deleted, once they are old; the errand's id.

    Raises:
        Conflict: it never ran.
    """
    # Its newest attempt may be alive, unless the job has ended.
    spared = job.attempts + (job.state in TERMINAL)
    (errand,) = await errands.ask(tx, job.id, "orphans", [f"{spared}/0"], new_id, now_ms)
    return errand


async def _ask_to_delete(
    tx: WriteTx, job_id: JobId, paths: Iterable[str], new_id: NewId, now_ms: int, why: str
) -> None:
    listed = list(paths)
    await errands.ask(tx, job_id, "delete", listed, new_id, now_ms)
    for begin in range(0, len(listed), 500):  # below every database's limit of variables
        some = (checkpoints.c.job_id == job_id) & checkpoints.c.path.in_(listed[begin : begin + 500])
        await tx.tell(update(checkpoints).where(some).values(delete_asked_at_ms=now_ms))
    named = f"checkpoint {listed[0]} goes" if len(listed) == 1 else f"{len(listed)} checkpoints go"
    await events.append(tx, [Event("checkpoint.expired", now_ms, f"{named}: {why}", job_id)])


def _is(job_id: JobId, path: str):  # type: ignore[no-untyped-def]  # SQLAlchemy's own type of a condition
    return (checkpoints.c.job_id == job_id) & (checkpoints.c.path == path)
