"""Retention, every half minute: steps that no policy keeps any more are given to their clusters to delete, and what
dead attempts left is looked for."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from orchestrator.clock import Clock
from orchestrator.domain.errors import Unavailable
from orchestrator.domain.ids import NewId
from orchestrator.store.commands.checkpoints import sweep, sweep_orphans
from orchestrator.store.database import Database

EVERY_MS: Final = 30_000

log = structlog.get_logger()


async def keep_retention(
    database: Database, clock: Clock, new_id: NewId, leads: Callable[[], bool], stopping: asyncio.Event
) -> None:
    """Until `stopping` is set. Only the leader sweeps; two that did at once would ask for the same deletions twice,
    which changes nothing."""
    while not stopping.is_set():
        await clock.wait(stopping, EVERY_MS)
        if not leads() or stopping.is_set():
            continue
        try:
            async with database.write() as tx:
                asked = await sweep(tx, new_id, clock.now_ms())
                await sweep_orphans(tx, new_id, clock.now_ms())
        except Unavailable as error:
            log.warning("retention found no database", why=error.why)
        except Exception:  # a defect here must not take the server with it
            log.exception("retention failed")
        else:
            if asked:
                log.info("checkpoints expired", count=asked)
