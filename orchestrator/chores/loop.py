"""The chores' loop: runs while this process leads. A chore that goes wrong is logged, and tried again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from orchestrator.clock import Clock
from orchestrator.domain.errors import Unavailable

MESSAGES_MS: Final = 1_000
SWEEPS_MS: Final = 60_000
OUTLOOKS_MS: Final = 1_000

log = structlog.get_logger()

Chore = Callable[[], Awaitable[int]]


async def keep_doing(
    chore: Chore, every_ms: int, leads: Callable[[], bool], clock: Clock, until: asyncio.Event
) -> None:
    """Do the chore every so often while `leads()`, until the event."""
    while not until.is_set():
        if leads():
            try:
                await chore()
            except Unavailable as error:
                log.warning("a chore found no database", why=error.why, again_in_ms=every_ms)
            except Exception:  # a chore's defect must not take the server with it
                log.exception("a chore failed", again_in_ms=every_ms)
        await clock.wait(until, every_ms)
