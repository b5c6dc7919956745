"""Sweep away what is older than the settings allow, little by little."""

import asyncio
from typing import Final

from orchestrator.clock import Clock
from orchestrator.store.blobs import Blobs, artifact_folder, log_folder
from orchestrator.store.commands import bundles, retention
from orchestrator.store.commands.retention import Kept
from orchestrator.store.database import Database

_BUNDLES_AT_ONCE: Final = 100


class Sweeper:
    """Each round takes a bounded piece; what is left waits for the next."""

    def __init__(self, database: Database, blobs: Blobs, clock: Clock, kept: Kept) -> None:
        self._database = database
        self._blobs = blobs
        self._clock = clock
        self._kept = kept

    async def run_once(self) -> int:
        """How many things were removed."""
        now_ms, kept, removed = self._clock.now_ms(), self._kept, 0
        if kept.events_ms is not None:
            async with self._database.write() as tx:
                removed += await retention.forget_events(tx, now_ms - kept.events_ms)
        if kept.metrics_ms is not None:
            async with self._database.write_beside() as tx:
                removed += await retention.forget_metrics(tx, now_ms - kept.metrics_ms)
        if kept.logs_ms is not None:
            async with self._database.read() as tx:
                ended = await retention.ended_before(tx, now_ms - kept.logs_ms)
            for job_id, attempt_id in ended:
                removed += await asyncio.to_thread(self._blobs.remove_folder, log_folder(job_id, attempt_id))
        if kept.artifacts_ms is not None:
            async with self._database.write_beside() as tx:
                left = await retention.forget_artifacts(tx, now_ms - kept.artifacts_ms)
            for job_id, attempt_id in left:
                removed += await asyncio.to_thread(self._blobs.remove_folder, artifact_folder(job_id, attempt_id))
        async with self._database.write() as tx:
            blobs = await bundles.forget_unnamed(tx, now_ms - kept.unnamed_bundles_ms, _BUNDLES_AT_ONCE)
        for name in blobs:
            await asyncio.to_thread(self._blobs.remove, name)
        return removed + len(blobs)
