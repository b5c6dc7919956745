"""What every test of the store needs: a migrated database, a lease on it, and a cluster with a slice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from orchestrator.changes import Changes, JobChange, SliceChange
from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import JobId, SliceId
from orchestrator.domain.job import Attempt, Job
from orchestrator.domain.lifecycle import JobState
from orchestrator.store import lease
from orchestrator.store.blobs import Blobs
from orchestrator.store.commands import fleet as fleet_commands
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.commands.apply import Applied, apply
from orchestrator.store.database import Database
from orchestrator.store.ingest import Piece, ingest
from orchestrator.store.lease import Lease
from orchestrator.store.migrate import migrate
from orchestrator.store.queries import jobs as job_queries
from orchestrator.store.queries import world as world_queries
from orchestrator.world import World
from tests.builders import LOCAL, NOW, a_slice, a_spec, an_attempt

SLICES = ("pool-0", "pool-1")


class Store:
    """A database with the leader's lease taken, the cluster `local`, and two free slices."""

    def __init__(self, database: Database, blobs: Blobs) -> None:
        self.database = database
        self.blobs = blobs
        self.lease = Lease("", 0, 0)

    async def set_up(self) -> None:
        async with self.database.write() as tx:
            taken = await lease.take(tx, "tests", None)
            assert taken is not None
            self.lease = taken
            await fleet_commands.see_cluster(tx, LOCAL, NOW)
        await self.apply(Changes(slices=tuple(SliceChange(a_slice(name)) for name in SLICES)))

    async def submit(self, name: str = "toy", **spec: object) -> Job:
        async with self.database.write() as tx:
            number = len((await job_queries.page(tx, job_queries.JobFilter(), 200, None)).jobs) + 1
            job_id, _ = await job_commands.submit(tx, a_spec(name=name, **spec), JobId(f"job_{number}"), NOW)
            return await job_queries.find(tx, job_id)

    async def apply(self, changes: Changes) -> Applied:
        async with self.database.write() as tx:
            return await apply(tx, changes, self.lease)

    async def start(self, job: Job, slice_id: str = "pool-0") -> Attempt:
        """Begin the job's next attempt."""
        job = await self.job(job.id)
        attempt = an_attempt(job.id, job.attempts + 1, (slice_id,))
        applied = await self.apply(Changes(jobs=(started(job, attempt),)))
        assert not applied.dropped
        return attempt

    async def end(self, attempt: Attempt, reason: str = "preempted", at_ms: int = NOW) -> None:
        """End the attempt; its job waits again."""
        job = await self.job(attempt.job_id)
        await self.apply(Changes(jobs=(ended(job, attempt, reason, at_ms),)))

    async def job(self, job_id: str) -> Job:
        async with self.database.read() as tx:
            return await job_queries.find(tx, job_id)

    async def world(self) -> World:
        async with self.database.read() as tx:
            return await world_queries.world(tx, NOW, self.lease.epoch)

    async def post(self, attempt: Attempt, data: bytes, offset: int = 0, **piece: object) -> int:
        """Ingest one piece, of rank 0's spool unless said otherwise; the next offset that is wanted."""
        rank, stream, now_ms = piece.get("rank", 0), piece.get("stream", "spool"), piece.get("now_ms", NOW)
        one = Piece(rank, stream, offset, data, bool(piece.get("final")))  # type: ignore[arg-type]
        offsets = await ingest(self.database, self.blobs, attempt.id, [one], now_ms)  # type: ignore[arg-type]
        return offsets[0].offset


def started(job: Job, attempt: Attempt) -> JobChange:
    starting = replace(job, state=JobState.STARTING, attempts=attempt.number, version=job.version + 1)
    return JobChange(job.version, starting, started=attempt)


def ended(job: Job, attempt: Attempt, reason: str = "preempted", at_ms: int = NOW) -> JobChange:
    waiting = replace(job, state=JobState.QUEUED, version=job.version + 1)
    return JobChange(job.version, waiting, attempt=replace(attempt, ended_at_ms=at_ms, reason=Reason(reason)))


def on(attempt: Attempt, *slices: str) -> Attempt:
    return replace(attempt, slices=tuple(SliceId(name) for name in slices))


@asynccontextmanager
async def open_store(url: str, folder: Path) -> AsyncIterator[Store]:
    database = Database(url)
    try:
        await migrate(database)
        store = Store(database, Blobs(folder / "blobs"))
        await store.set_up()
        yield store
    finally:
        await database.close()
