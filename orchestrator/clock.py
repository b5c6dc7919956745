"""The only place that reads time. Decisions take `now` as an argument; only loops and the API's edge hold a clock."""

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol

_LEANS_BY: Final = 20


class Clock(Protocol):
    """Wall time stamps rows; monotonic time measures spans, so that a jump of the wall clock changes no decision."""

    def now_ms(self) -> int: ...

    def monotonic_ms(self) -> int: ...

    async def sleep(self, span_ms: int) -> None: ...

    async def wait(self, event: asyncio.Event, span_ms: int) -> bool:
        """Wait for `event`, at most `span_ms`; whether it came."""
        ...


class SteadyWall:
    """Wall time that never jumps: it runs with a clock that only counts, and leans towards the wall clock.

    When the wall clock is set, deadlines must neither pass at once nor move away; the difference is made up at a
    twentieth of the time that passes. `wall_ms` and `count_ms` read the two clocks.
    """

    def __init__(self, wall_ms: Callable[[], int], count_ms: Callable[[], int]) -> None:
        self._wall_ms = wall_ms
        self._count_ms = count_ms
        self._now_ms = float(wall_ms())
        self._counted_ms = count_ms()

    def now_ms(self) -> int:
        counted_ms = self._count_ms()
        passed_ms, self._counted_ms = counted_ms - self._counted_ms, counted_ms
        straight_ms = self._now_ms + passed_ms
        most_ms = passed_ms / _LEANS_BY
        self._now_ms = straight_ms + min(max(self._wall_ms() - straight_ms, -most_ms), most_ms)
        return int(self._now_ms)


class SystemClock:
    """The machine's own clocks."""

    def __init__(self) -> None:
        self._steady = SteadyWall(lambda: time.time_ns() // 1_000_000, _since_boot_ms)

    def now_ms(self) -> int:
        return self._steady.now_ms()

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


def _since_boot_ms() -> int:
    """Counts while the machine sleeps, too: a laptop that wakes up is not an hour behind."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
