"""Bundles of code: which there are, and which no job names."""

from dataclasses import dataclass

from sqlalchemy import select

from orchestrator.domain.errors import NotFound
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import bundles, jobs


@dataclass(frozen=True, slots=True)
class Bundle:
    project: str
    digest: str
    blob: str
    size: int
    """Bytes of the archive."""
    unpacked: int
    files: int
    git_commit: str | None
    dirty: bool | None
    """Whether the work tree differed from the commit; None: it was of no repository."""
    diff: str | None
    added_at_ms: int
    added_by: str
    used_at_ms: int


async def bundle(tx: ReadTx, project: str, digest: str) -> Bundle:
    """Raises NotFound if the project has no such bundle."""
    asked = select(bundles).where(bundles.c.project == project, bundles.c.digest == digest)
    row = (await tx.ask(asked)).mappings().one_or_none()
    if row is None:
        raise NotFound(f"project {project} has no bundle {digest[:80]}")
    return Bundle(**row)


async def bundles_of(tx: ReadTx, project: str, limit: int, after: str | None) -> tuple[Bundle, ...]:
    """At most `limit` bundles, by digest, beyond `after`."""
    asked = select(bundles).where(bundles.c.project == project, bundles.c.digest > (after or ""))
    found = await tx.ask(asked.order_by(bundles.c.digest).limit(limit))
    return tuple(Bundle(**row) for row in found.mappings())


async def unnamed(tx: ReadTx, before_ms: int, limit: int) -> tuple[Bundle, ...]:
    """Bundles that no job names and that nobody has offered since that moment."""
    named = select(jobs.c.id).where(jobs.c.project == bundles.c.project, jobs.c.bundle == bundles.c.digest).exists()
    found = await tx.ask(select(bundles).where(bundles.c.used_at_ms < before_ms, ~named).limit(limit))
    return tuple(Bundle(**row) for row in found.mappings())
