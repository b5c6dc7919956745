"""Take in what ranks wrote: logs to blobs, spools to rows. Posted at least once, kept exactly once.

A stream's offset and the rows that its bytes became are committed together, so a post that is repeated, torn or lost
half-way adds nothing twice and leaves nothing out.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sqlalchemy import select

from orchestrator.domain.errors import NotFound, Superseded
from orchestrator.domain.ids import AttemptId
from orchestrator.domain.job import Attempt, Event
from orchestrator.domain.masking import Masker
from orchestrator.protocol import Offset
from orchestrator.store import reports
from orchestrator.store.blobs import Blobs, log_name
from orchestrator.store.commands import events
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.database import Database, ReadTx, WriteTx
from orchestrator.store.masks import Masks
from orchestrator.store.queries import jobs as job_queries
from orchestrator.store.schema import streams
from orchestrator.store.spool import CheckpointReport, SpoolPart, read_spool

StreamName = Literal["spool", "stdout", "stderr"]
Stream = tuple[int, StreamName]
"""A rank and the name of one of its streams."""

LATE_MS: Final = 3_600_000
"""For so long after *we* recorded an attempt's end its last reports are taken: supervisors keep them meanwhile."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes `[offset, offset + len)` of one rank's stream."""

    rank: int
    stream: StreamName
    offset: int
    data: bytes
    final: bool = False
    """Nothing follows it in its stream."""

    def beyond(self, stored: int) -> "Piece | None":
        """What of it is not stored yet; None if that is nothing, or if bytes before it are missing."""
        if not self.offset <= stored < self.offset + len(self.data):
            return None
        return Piece(self.rank, self.stream, stored, self.data[stored - self.offset :], self.final)


@dataclass(frozen=True, slots=True)
class _Read:
    """A piece whose bytes are new, and what they said."""

    piece: Piece
    part: SpoolPart


async def ingest(
    database: Database,
    blobs: Blobs,
    attempt_id: AttemptId,
    pieces: Sequence[Piece],
    now_ms: int,
    masks: Masks | None = None,
) -> tuple[Offset, ...]:
    """Keep what is new of each piece, secrets masked; for each stream that was posted the next byte that is wanted.

    What may be the beginning of a secret is not taken before its rest is there.

    Raises:
        NotFound: no such attempt.
        Superseded: its end was recorded too long ago.
    """
    async with database.read() as tx:
        attempt = await reporting(tx, attempt_id, now_ms)
        stored = await stored_offsets(tx, attempt_id)
        masker = Masker(()) if masks is None else await masks.of(tx, attempt_id, attempt.job_id)
    read = await asyncio.to_thread(_read, blobs, attempt, pieces, stored, masker)
    told = any(one.part.invalid or any(isinstance(r, CheckpointReport) for r in one.part.records) for one in read)
    # Only what becomes an event has to wait for other writers: slices report once a second.
    async with database.write() if told else database.write_beside() as tx:
        await job_commands.lock(tx, attempt.job_id)
        await reporting(tx, attempt_id, now_ms)
        for one in read:
            await _keep(tx, attempt, one, now_ms)
        stored = await stored_offsets(tx, attempt_id)
    posted = dict.fromkeys((piece.rank, piece.stream) for piece in pieces)
    return tuple(Offset(rank, stream, stored.get((rank, stream), 0)) for rank, stream in posted)


async def reporting(tx: ReadTx, attempt_id: AttemptId, now_ms: int) -> Attempt:
    """The attempt, if it may still report: a live one, or one whose end was recorded a short while ago.

    That a successor runs does not matter: each attempt's reports are its own, and where they are joined the newer wins.
    """
    attempt = await job_queries.attempt(tx, attempt_id)
    if attempt is None:
        raise NotFound(f"there is no attempt {attempt_id}")
    closed_at_ms = await job_queries.closed_at_ms(tx, attempt_id)
    if closed_at_ms is None:
        may = attempt.number == await job_queries.newest_number(tx, attempt.job_id)
    else:
        may = now_ms < closed_at_ms + LATE_MS
    if not may:
        raise Superseded
    return attempt


def _read(
    blobs: Blobs, attempt: Attempt, pieces: Sequence[Piece], stored: Mapping[Stream, int], masker: Masker
) -> list[_Read]:
    """Outside any transaction: written bytes of a log count only once the offset has passed them."""
    reached = dict(stored)
    read: list[_Read] = []
    for piece in pieces:
        new = piece.beyond(reached.get((piece.rank, piece.stream), 0))
        if new is None:
            continue
        if piece.stream == "spool":
            # Its lines are read whole, so no secret in them is cut.
            part = read_spool(masker.mask(new.data), new.offset, grows=attempt.live, final=new.final)
        else:
            taken = len(new.data) if new.final else masker.whole(new.data)
            shown = masker.mask(new.data)[:taken]
            blobs.write_at(log_name(attempt.job_id, attempt.id, piece.rank, piece.stream), new.offset, shown)
            part = SpoolPart((), taken, invalid=0)
        reached[piece.rank, piece.stream] = new.offset + part.length
        read.append(_Read(new, part))
    return read


async def _keep(tx: WriteTx, attempt: Attempt, read: _Read, now_ms: int) -> None:
    new, part = read.piece, read.part
    stream = (streams.c.attempt_id == attempt.id) & (streams.c.rank == new.rank) & (streams.c.stream == new.stream)
    row = (await tx.ask(select(streams.c.offset, streams.c.invalid).where(stream))).one_or_none()
    stored, invalid = (row.offset, row.invalid) if row is not None else (0, 0)
    if stored != new.offset:
        return  # another post of the same bytes was faster
    after = {"offset": stored + part.length, "invalid": invalid + part.invalid}
    await tx.put(streams, [{"attempt_id": attempt.id, "rank": new.rank, "stream": new.stream, **after}])
    await reports.record(tx, attempt, new.rank, part.records)
    if part.invalid and not invalid:
        says = f"rank {new.rank} reported lines that could not be read; they are skipped and counted"
        await events.append(tx, [Event("spool.invalid", now_ms, says, attempt.job_id, attempt.id)])


async def stored_offsets(tx: ReadTx, attempt_id: AttemptId) -> dict[Stream, int]:
    """How many bytes of each of the attempt's streams are stored."""
    asked = select(streams.c.rank, streams.c.stream, streams.c.offset).where(streams.c.attempt_id == attempt_id)
    return {(row.rank, row.stream): row.offset for row in await tx.ask(asked)}
