"""Take in what ranks wrote: logs to blobs, spools to rows. Posted at least once, kept exactly once.

A stream's offset and the rows that its bytes became are committed together, so a post that is repeated, torn or lost
half-way adds nothing twice and leaves nothing out.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeGuard

from sqlalchemy import func, select

from orchestrator.domain.errors import NotFound, PodwrightError, Superseded
from orchestrator.domain.ids import AttemptId
from orchestrator.domain.job import Attempt, Event
from orchestrator.domain.masking import Masker
from orchestrator.protocol import Offset
from orchestrator.store import reports, rows
from orchestrator.store.blobs import Blobs, log_name
from orchestrator.store.commands import events
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.database import Database, ReadTx, WriteTx
from orchestrator.store.masks import Masks
from orchestrator.store.reports import Told
from orchestrator.store.schema import attempts, streams
from orchestrator.store.spool import CheckpointReport, Notice, SpoolPart, read_spool

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
class Post:
    """What one attempt sent at once."""

    attempt_id: AttemptId
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """A piece whose bytes are new, and what they said."""

    piece: Piece
    part: SpoolPart

    @property
    def makes_an_event(self) -> bool:
        return bool(self.part.invalid) or any(isinstance(one, CheckpointReport | Notice) for one in self.part.records)


Offsets = tuple[Offset, ...]
_Known = dict[tuple[AttemptId, int, str], tuple[int, int]]
"""Of a rank's stream: how many bytes are stored, and how many lines of them could not be read."""


async def ingest(
    database: Database,
    blobs: Blobs,
    attempt_id: AttemptId,
    pieces: Sequence[Piece],
    now_ms: int,
    masks: Masks | None = None,
) -> Offsets:
    """Keep what is new of each piece, secrets masked; for each stream that was posted the next byte that is wanted.

    What may be the beginning of a secret is not taken before its rest is there.

    Raises:
        NotFound: no such attempt.
        Superseded: its end was recorded too long ago.
    """
    (outcome,) = await ingest_all(database, blobs, (Post(attempt_id, tuple(pieces)),), now_ms, masks)
    if isinstance(outcome, PodwrightError):
        raise outcome
    return outcome


async def ingest_all(
    database: Database, blobs: Blobs, posts: Sequence[Post], now_ms: int, masks: Masks | None = None
) -> list[Offsets | PodwrightError]:
    """What `ingest` does, for posts of different attempts together: their number hardly adds to that of the statements.

    In the order of the posts: the offsets, or why one was refused, which hinders no other.
    """
    ids = [post.attempt_id for post in posts]
    async with database.read() as tx:
        may = await _who_may_report(tx, ids, now_ms)
        known = await _known(tx, ids)
        reporters = [attempt for attempt in may.values() if isinstance(attempt, Attempt)]
        maskers = {} if masks is None else {one.id: await masks.of(tx, one.id, one.job_id) for one in reporters}
    read = await asyncio.to_thread(_read_all, blobs, posts, may, known, maskers)
    events_come_of = {of for of, found in read.items() if any(one.makes_an_event for one in found)}
    # Only what becomes an event has to wait for other writers: slices report once a second.
    for loud in (False, True):
        chosen = {of: found for of, found in read.items() if found and (of in events_come_of) is loud}
        if chosen:
            async with database.write() if loud else database.write_beside() as tx:
                await job_commands.lock(tx, {one.job_id for one in map(may.get, chosen) if isinstance(one, Attempt)})
                may |= await _who_may_report(tx, list(chosen), now_ms)
                known |= await _keep_all(tx, may, chosen, now_ms)
    return [_outcome(post, may[post.attempt_id], known) for post in posts]


def _outcome(post: Post, may: Attempt | PodwrightError, known: _Known) -> Offsets | PodwrightError:
    if isinstance(may, PodwrightError):
        return may
    posted = dict.fromkeys((piece.rank, piece.stream) for piece in post.pieces)
    return tuple(Offset(rank, name, known.get((may.id, rank, name), (0, 0))[0]) for rank, name in posted)


def _is_attempt(found: Attempt | PodwrightError) -> TypeGuard[Attempt]:
    return isinstance(found, Attempt)


async def reporting(tx: ReadTx, attempt_id: AttemptId, now_ms: int) -> Attempt:
    """The attempt, if it may still report.

    Raises:
        NotFound: no such attempt.
        Superseded: its end was recorded too long ago.
    """
    found = (await _who_may_report(tx, [attempt_id], now_ms))[attempt_id]
    if isinstance(found, PodwrightError):
        raise found
    return found


async def _who_may_report(
    tx: ReadTx, attempt_ids: Sequence[AttemptId], now_ms: int
) -> dict[AttemptId, Attempt | PodwrightError]:
    """Each attempt that may still report, or why not: a live one may, and one whose end was recorded a short while ago.

    That a successor runs does not matter: each attempt's reports are its own, and where they are joined the newer wins.
    """
    others = attempts.alias()
    newest = select(func.max(others.c.number)).where(others.c.job_id == attempts.c.job_id).scalar_subquery()
    recorded = func.coalesce(attempts.c.closed_at_ms, attempts.c.ended_at_ms)
    asked = select(attempts, recorded.label("recorded_at_ms"), newest.label("newest"))
    found: dict[AttemptId, Attempt | PodwrightError] = {
        one: NotFound(f"there is no attempt {one}") for one in attempt_ids
    }
    for row in (await tx.ask(asked.where(attempts.c.id.in_(attempt_ids)))).mappings():
        attempt, recorded_at_ms = rows.attempt_of(row), row["recorded_at_ms"]
        live = recorded_at_ms is None
        may = attempt.number == row["newest"] if live else now_ms < recorded_at_ms + LATE_MS
        found[attempt.id] = attempt if may else Superseded()
    return found


def _read_all(
    blobs: Blobs,
    posts: Sequence[Post],
    may: Mapping[AttemptId, Attempt | PodwrightError],
    known: _Known,
    maskers: Mapping[AttemptId, Masker],
) -> dict[AttemptId, list[_Read]]:
    """What is new of each post whose attempt may report."""
    read = {}
    for post in posts:
        attempt = may[post.attempt_id]
        if _is_attempt(attempt):
            read[attempt.id] = _read(blobs, attempt, post.pieces, known, maskers.get(attempt.id, Masker(())))
    return read


def _read(blobs: Blobs, attempt: Attempt, pieces: Sequence[Piece], known: _Known, masker: Masker) -> list[_Read]:
    """Outside any transaction: written bytes of a log count only once the offset has passed them."""
    reached: dict[Stream, int] = {}
    read: list[_Read] = []
    for piece in pieces:
        stored, _ = known.get((attempt.id, piece.rank, piece.stream), (0, 0))
        new = piece.beyond(reached.get((piece.rank, piece.stream), stored))
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


async def _keep_all(
    tx: WriteTx,
    may: Mapping[AttemptId, Attempt | PodwrightError],
    read: Mapping[AttemptId, Sequence[_Read]],
    now_ms: int,
) -> _Known:
    """Write what was read, if it still joins on to what is stored; what is stored of these attempts then."""
    known = await _known(tx, list(read))
    changed: set[tuple[AttemptId, int, str]] = set()
    told: list[Told] = []
    news: list[Event] = []
    for attempt_id, found in read.items():
        attempt = may[attempt_id]
        if not _is_attempt(attempt):
            continue
        for one in found:
            key = (attempt.id, one.piece.rank, one.piece.stream)
            stored, invalid = known.get(key, (0, 0))
            if stored != one.piece.offset:
                continue  # another post of the same bytes was faster
            known[key] = (stored + one.part.length, invalid + one.part.invalid)
            changed.add(key)
            told.append(Told(attempt, one.piece.rank, one.part.records))
            if one.part.invalid and not invalid:
                says = f"rank {one.piece.rank} reported lines that could not be read; they are skipped and counted"
                news.append(Event("spool.invalid", now_ms, says, attempt.job_id, attempt.id))
    await tx.put(streams, [_stream_row(key, known[key]) for key in sorted(changed)])
    await reports.record(tx, told)
    await events.append(tx, news)
    return known


def _stream_row(key: tuple[AttemptId, int, str], kept: tuple[int, int]) -> dict[str, Any]:
    (attempt_id, rank, name), (offset, invalid) = key, kept
    return {"attempt_id": attempt_id, "rank": rank, "stream": name, "offset": offset, "invalid": invalid}


async def _known(tx: ReadTx, attempt_ids: Sequence[AttemptId]) -> _Known:
    found = await tx.ask(select(streams).where(streams.c.attempt_id.in_(attempt_ids)))
    return {(AttemptId(row.attempt_id), row.rank, row.stream): (row.offset, row.invalid) for row in found}
