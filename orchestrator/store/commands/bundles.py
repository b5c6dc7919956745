"""Keep bundles of code, and forget those that no job names. Their bytes are blobs, written before and removed after."""

from dataclasses import asdict

from sqlalchemy import delete, select, update

from orchestrator.domain.access import Actor
from orchestrator.domain.errors import Conflict, NotFound
from orchestrator.domain.job import Event
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.queries import bundles as queries
from orchestrator.store.queries.bundles import Bundle
from orchestrator.store.schema import bundles, jobs


async def add_bundle(tx: WriteTx, new: Bundle, by: Actor) -> bool:
    """Whether it is new. One that is there keeps its blob and what was said of it first, and counts as used now."""
    try:
        await queries.bundle(tx, new.project, new.digest)
    except NotFound:
        await tx.add_new(bundles, [asdict(new)])
        said = f"bundle {new.digest[:12]} was uploaded: {new.files} files"
        await events.append(tx, [Event("bundle.added", new.added_at_ms, said, project=new.project, by=by)])
        return True
    await use(tx, new.project, new.digest, new.added_at_ms)
    return False


async def use(tx: WriteTx, project: str, digest: str, now_ms: int) -> None:
    """Somebody wants it: retention counts from now."""
    mine = (bundles.c.project == project) & (bundles.c.digest == digest)
    await tx.tell(update(bundles).where(mine).values(used_at_ms=now_ms))


async def describe(tx: WriteTx, project: str, digest: str, commit: str | None, dirty: bool, diff: str | None) -> None:
    """Keep what is said of its origin, if nothing was said before."""
    mine = (bundles.c.project == project) & (bundles.c.digest == digest) & bundles.c.dirty.is_(None)
    await tx.tell(update(bundles).where(mine).values(git_commit=commit, dirty=int(dirty), diff=diff))


async def remove_bundle(tx: WriteTx, gone: Bundle, now_ms: int, by: Actor) -> None:
    """Its blob is then to be removed.

    Raises:
        Conflict: a job names it.
    """
    named = select(jobs.c.id).where(jobs.c.project == gone.project, jobs.c.bundle == gone.digest).limit(1)
    if (job := (await tx.ask(named)).scalar_one_or_none()) is not None:
        raise Conflict(f"job {job} runs bundle {gone.digest[:12]}")
    await _forget(tx, gone)
    said = f"bundle {gone.digest[:12]} was removed"
    await events.append(tx, [Event("bundle.removed", now_ms, said, project=gone.project, by=by)])


async def forget_unnamed(tx: WriteTx, before_ms: int, limit: int) -> tuple[str, ...]:
    """Forget bundles that no job names and nobody offered since that moment; the blobs that are to be removed."""
    gone = await queries.unnamed(tx, before_ms, limit)
    for one in gone:
        await _forget(tx, one)
    return tuple(one.blob for one in gone)


async def _forget(tx: WriteTx, gone: Bundle) -> None:
    await tx.tell(delete(bundles).where(bundles.c.project == gone.project, bundles.c.digest == gone.digest))
