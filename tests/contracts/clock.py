"""A clock that stands still until a test moves it."""

import asyncio


class ManualClock:
    """Sleepers and waiters wake when `advance` passes their moment."""

    def __init__(self, now_ms: int = 1_000_000) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = 0
        self._moved = asyncio.Event()
        self._waited = asyncio.Event()

    def next_wait(self) -> asyncio.Event:
        """Set when somebody next begins, or after a move goes on, to wait."""
        return self._waited

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def advance(self, span_ms: int) -> None:
        self._now_ms += span_ms
        self._monotonic_ms += span_ms
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def jump_wall(self, span_ms: int) -> None:
        """The wall clock is set; no time passes."""
        self._now_ms += span_ms

    async def sleep(self, span_ms: int) -> None:
        until = self._monotonic_ms + span_ms
        while self._monotonic_ms < until:
            await self._moved.wait()

    async def wait(self, event: asyncio.Event, span_ms: int) -> bool:
        until = self._monotonic_ms + span_ms
        while not event.is_set() and self._monotonic_ms < until:
            waited, self._waited = self._waited, asyncio.Event()
            waited.set()
            waiting = [asyncio.ensure_future(one.wait()) for one in (event, self._moved)]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for one in waiting:
                one.cancel()
        return event.is_set()
