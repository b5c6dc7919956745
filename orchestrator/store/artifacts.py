"""Take in what programs left in their output folders: bytes to blobs, files to rows. Posted at least once, kept once.

A version of a file, told by its size and time of change, arrives in pieces; when it is whole, and not before, it takes
the place of the one before it.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from orchestrator.domain.artifacts import refusal
from orchestrator.domain.ids import AttemptId
from orchestrator.domain.job import Attempt
from orchestrator.protocol import ArtifactOffset
from orchestrator.store.blobs import Blobs, artifact_folder
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.database import Database, ReadTx, WriteTx
from orchestrator.store.ingest import reporting
from orchestrator.store.schema import artifacts


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one rank's file."""

    rank: int
    path: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes `[offset, offset + len)` of a version."""

    of: Version
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that its host does not send, and why."""

    rank: int
    path: str
    why: str


async def take_in(
    database: Database,
    blobs: Blobs,
    attempt_id: AttemptId,
    parts: Sequence[Part],
    skipped: Sequence[Skipped],
    now_ms: int,
) -> tuple[ArtifactOffset, ...]:
    """Keep what is new; of each version that was posted the next byte that is wanted: its size, if nothing is.

    Raises:
        NotFound: no such attempt.
        Superseded: its end was recorded too long ago.
    """
    async with database.read() as tx:
        attempt = await reporting(tx, attempt_id, now_ms)
        before = {part.of: await _stored(tx, attempt_id, part.of) for part in parts}
    new = await asyncio.to_thread(_write, blobs, attempt, parts, before)
    gone: list[str] = []
    async with database.write_beside() as tx:
        await job_commands.lock(tx, {attempt.job_id})
        await reporting(tx, attempt_id, now_ms)
        for part in new:
            gone += await _keep(tx, attempt, part, now_ms)
        for one in skipped:
            await _note(tx, attempt, Version(one.rank, one.path, 0, 0), one.why, now_ms)
        after = {part.of: await _stored(tx, attempt_id, part.of) for part in parts}
    for name in gone:
        await asyncio.to_thread(blobs.remove, name)
    return tuple(ArtifactOffset(of.rank, of.path, of.size, of.modified_ns, stored) for of, stored in after.items())


def blob_of(attempt: Attempt, of: Version) -> str:
    """Named by the version: two posts of the same bytes write the same blob."""
    named = f"{of.rank}\n{of.path}\n{of.size}\n{of.modified_ns}"
    return f"{artifact_folder(attempt.job_id, attempt.id)}/{hashlib.sha256(named.encode()).hexdigest()}"


def _write(blobs: Blobs, attempt: Attempt, parts: Sequence[Part], stored: dict[Version, int]) -> list[Part]:
    """Outside any transaction: written bytes count only once the row has passed them."""
    reached = dict(stored)
    new: list[Part] = []
    for part in parts:
        at, end = reached[part.of], part.offset + len(part.data)
        if not part.offset <= at <= end <= part.of.size or (at == end and part.of.size):
            continue  # nothing new, or bytes before it are missing, or more than the file has
        data = part.data[at - part.offset :]
        blobs.write_at(blob_of(attempt, part.of), at, data)
        new.append(Part(part.of, at, data))
        reached[part.of] = end
    return new


async def _keep(tx: WriteTx, attempt: Attempt, part: Part, now_ms: int) -> list[str]:
    """The blobs of versions whose place it takes."""
    of = part.of
    if await _stored(tx, attempt.id, of) != part.offset:
        return []  # another post of the same bytes was faster
    if part.offset == 0:
        files, total = await _kept(tx, attempt.id, of)
        if (why := refusal(of.size, files, total)) is not None:
            await _note(tx, attempt, of, why, now_ms)
            return [blob_of(attempt, of)]
        await tx.add_new(artifacts, [_row(attempt, of, "arriving", now_ms)])
    stored = part.offset + len(part.data)
    state = "kept" if stored == of.size else "arriving"
    await tx.tell(update(artifacts).where(_is(attempt.id, of)).values(stored=stored, state=state, at_ms=now_ms))
    if state == "arriving":
        return []
    others = _same_path(attempt.id, of) & ~_is(attempt.id, of)
    return list((await tx.tell(delete(artifacts).where(others).returning(artifacts.c.blob))).scalars())


async def _note(tx: WriteTx, attempt: Attempt, of: Version, why: str, now_ms: int) -> None:
    """Say in the place of a file why it was not taken. One that was kept before is kept."""
    await tx.tell(delete(artifacts).where(_same_path(attempt.id, of), artifacts.c.state == "skipped"))
    await tx.tell(insert(artifacts).values(_row(attempt, of, "skipped", now_ms) | {"note": why, "stored": of.size}))


async def _stored(tx: ReadTx, attempt_id: AttemptId, of: Version) -> int:
    asked = select(artifacts.c.stored).where(_is(attempt_id, of))
    found: int | None = (await tx.ask(asked)).scalar_one_or_none()
    return found or 0


async def _kept(tx: ReadTx, attempt_id: AttemptId, beside: Version) -> tuple[int, int]:
    """How many other files of the rank are there or coming, and their bytes."""
    size = func.coalesce(func.sum(artifacts.c.size), 0)
    asked = select(func.count().label("files"), size.label("bytes")).where(
        artifacts.c.attempt_id == attempt_id,
        artifacts.c.rank == beside.rank,
        artifacts.c.path != beside.path,
        artifacts.c.state != "skipped",
    )
    found = (await tx.ask(asked)).one()
    return int(found.files), int(found.bytes)


def _same_path(attempt_id: AttemptId, of: Version) -> Any:
    return (artifacts.c.attempt_id == attempt_id) & (artifacts.c.rank == of.rank) & (artifacts.c.path == of.path)


def _is(attempt_id: AttemptId, of: Version) -> Any:
    return _same_path(attempt_id, of) & (artifacts.c.size == of.size) & (artifacts.c.modified_ns == of.modified_ns)


def _row(attempt: Attempt, of: Version, state: str, now_ms: int) -> dict[str, Any]:
    return {
        "job_id": attempt.job_id,
        "attempt_id": attempt.id,
        "rank": of.rank,
        "path": of.path,
        "size": of.size,
        "modified_ns": of.modified_ns,
        "state": state,
        "stored": 0,
        "blob": blob_of(attempt, of),
        "note": "",
        "at_ms": now_ms,
    }
