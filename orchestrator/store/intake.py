"""Takes in what many attempts post at once, together: a thousand slices that report each second share transactions.

Whoever posts while a batch is being written waits for the next one, so batches grow with the load and a lone post waits
for nothing.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.errors import Unavailable
from orchestrator.domain.ids import AttemptId
from orchestrator.store.blobs import Blobs
from orchestrator.store.database import Database
from orchestrator.store.ingest import Offsets, Piece, Post, ingest_all
from orchestrator.store.masks import Masks

MOST_POSTS: Final = 200
MOST_BYTES: Final = 8 << 20
"""Of one transaction: others wait for it."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    post: Post
    now_ms: int
    answer: asyncio.Future[Offsets]

    @property
    def size(self) -> int:
        return sum(len(piece.data) for piece in self.post.pieces)


class Intake:
    """One per process."""

    def __init__(self, database: Database, blobs: Blobs, masks: Masks | None = None) -> None:
        self._database = database
        self._blobs = blobs
        self._masks = masks
        self._waiting: deque[_Waiting] = deque()
        self._writing: asyncio.Task[None] | None = None

    async def take(self, attempt_id: AttemptId, pieces: Sequence[Piece], now_ms: int) -> Offsets:
        """As `ingest`."""
        one = _Waiting(Post(attempt_id, tuple(pieces)), now_ms, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await one.answer

    async def _write(self) -> None:
        while self._waiting:
            await self._settle(self._next())

    def _next(self) -> list[_Waiting]:
        """Posts of different attempts, in the order in which they came; the second of an attempt waits."""
        chosen: dict[AttemptId, _Waiting] = {}
        later: list[_Waiting] = []
        size = 0
        while self._waiting and len(chosen) < MOST_POSTS and (size < MOST_BYTES or not chosen):
            one = self._waiting.popleft()
            if one.post.attempt_id in chosen:
                later.append(one)
            else:
                chosen[one.post.attempt_id] = one
                size += one.size
        self._waiting.extendleft(reversed(later))
        return list(chosen.values())

    async def _settle(self, batch: Sequence[_Waiting]) -> None:
        """Answer all. When the database refuses one, that must not be the others' fate: then each goes alone."""
        try:
            posts, now_ms = [one.post for one in batch], max(one.now_ms for one in batch)
            outcomes: Sequence[Offsets | BaseException] = await ingest_all(
                self._database, self._blobs, posts, now_ms, self._masks
            )
        except Exception as error:  # noqa: BLE001  # whoever waits for the answer shall have it
            if len(batch) > 1 and not isinstance(error, Unavailable):
                for one in batch:
                    await self._settle([one])
                return
            outcomes = [error] * len(batch)
        for one, outcome in zip(batch, outcomes, strict=True):
            if one.answer.done():
                continue  # nobody waits for it any more
            if isinstance(outcome, BaseException):
                one.answer.set_exception(outcome)
            else:
                one.answer.set_result(outcome)
