"""The only place that reads time. Decisions take `now` as an argument; only loops and the API's edge hold a clock."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time stamps rows; monotonic time measures spans, so that a jump of the wall clock changes no decision."""

    def now_ms(self) -> int: ...

    def monotonic_ms(self) -> int: ...

    async def sleep(self, span_ms: int) -> None: ...

    async def wait(self, event: asyncio.Event, span_ms: int) -> bool:
        """Wait for `event`, at most `span_ms`; whether it came."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    async def sleep(self, span_ms: int) -> None:
        await asyncio.sleep(span_ms / 1000)

    async def wait(self, event: asyncio.Event, span_ms: int) -> bool:
        try:
            async with asyncio.timeout(span_ms / 1000):
                return await event.wait()
        except TimeoutError:
            return False
