"""Ask clusters for errands on checkpoint objects, and take in what became of them."""

from collections.abc import Iterable

from sqlalchemy import insert, select, update

from orchestrator.domain.errors import Conflict
from orchestrator.domain.ids import ClusterId, JobId, NewId
from orchestrator.domain.job import Event
from orchestrator.protocol import ErrandDone
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.queries.checkpoints import Registered
from orchestrator.store.queries.errands import Kind
from orchestrator.store.schema import attempts, checkpoints, clusters, errands


async def ask(
    tx: WriteTx, job_id: JobId, kind: Kind, paths: Iterable[str], new_id: NewId, now_ms: int, target: str | None = None
) -> list[str]:
    """Ask the cluster on which the job last ran; the errands' ids.

    Raises:
        Conflict: it never ran anywhere, so nobody knows its checkpoints.
    """
    newest = (
        select(attempts.c.cluster_id).where(attempts.c.job_id == job_id).order_by(attempts.c.number.desc()).limit(1)
    )
    cluster_id = (await tx.ask(newest)).scalar_one_or_none()
    if cluster_id is None:
        raise Conflict(f"job {job_id} never ran: it has no checkpoints")
    rows = [
        {
            "id": new_id("err"), "cluster_id": cluster_id, "job_id": job_id, "kind": kind, "path": path,
            "target": target, "asked_at_ms": now_ms,
        }
        for path in paths
    ]  # fmt: skip
    if rows:
        await tx.tell(insert(errands), rows)
        moved = update(clusters).where(clusters.c.id == cluster_id)
        await tx.tell(moved.values(order_revision=clusters.c.order_revision + 1))
    return [str(row["id"]) for row in rows]


def refuse_foreign(saved: Registered) -> None:
    """Raises Conflict for a step that a program of the user's wrote: clusters know nothing about its objects."""
    if not saved.ours:
        raise Conflict(f"checkpoint {saved.path} was written by the job's own program, which knows what it holds")


async def take_in(tx: WriteTx, cluster_id: ClusterId, done: Iterable[ErrandDone], now_ms: int) -> None:
    """Keep what became of errands; a repeat changes nothing."""
    for one in done:
        open_one = (errands.c.id == one.id) & (errands.c.cluster_id == cluster_id) & errands.c.done_at_ms.is_(None)
        row = (await tx.ask(select(errands).where(open_one))).one_or_none()
        if row is None:
            continue
        await tx.tell(
            update(errands).where(open_one).values(done_at_ms=now_ms, ok=int(one.ok), message=one.message[:2000])
        )
        if row.kind == "delete":
            await _after_delete(tx, JobId(row.job_id), row.path, one, now_ms)
        elif one.finding == "damaged":
            await _set_aside(tx, JobId(row.job_id), row.path, one.message, now_ms)
        elif one.finding == "nothing":
            continue
        says = f"{row.kind} of checkpoint {row.path}: {one.message or ('done' if one.ok else 'failed')}"
        kind = f"checkpoint.{row.kind}_{'done' if one.ok else 'failed'}"
        await events.append(tx, [Event(kind, now_ms, says, JobId(row.job_id), data=(("path", row.path),))])
    # Done errands leave the orders, and others may take their place.
    moved = update(clusters).where(clusters.c.id == cluster_id)
    await tx.tell(moved.values(order_revision=clusters.c.order_revision + 1))


async def _after_delete(tx: WriteTx, job_id: JobId, path: str, done: ErrandDone, now_ms: int) -> None:
    step = (checkpoints.c.job_id == job_id) & (checkpoints.c.path == path)
    if done.ok:
        await tx.tell(update(checkpoints).where(step).values(deleted_at_ms=now_ms))
    elif done.finding == "newest":
        await tx.tell(update(checkpoints).where(step).values(delete_asked_at_ms=None))
    # Any other may have taken half of it: it stays a step that is being deleted, which nobody can pin or continue
    # from, and the sweep asks again.


async def _set_aside(tx: WriteTx, job_id: JobId, path: str, why: str, now_ms: int) -> None:
    step = (checkpoints.c.job_id == job_id) & (checkpoints.c.path == path) & checkpoints.c.delete_asked_at_ms.is_(None)
    await tx.tell(update(checkpoints).where(step).values(state="quarantined"))
    says = f"checkpoint {path} is damaged and set aside: {why}"
    await events.append(tx, [Event("checkpoint.quarantined", now_ms, says[:2000], job_id, data=(("path", path),))])
