"""The real control plane, without its server: store, tick and orders on a database file that outlives it."""

import base64
from collections.abc import Sequence
from pathlib import Path
from random import Random

from orchestrator.api.orders import orders_of
from orchestrator.domain.ids import AttemptId, JobId
from orchestrator.domain.spec import JobSpec
from orchestrator.protocol import FactsPost, FactsReply, IngestPost, IngestReply, Orders
from orchestrator.reconciler.decide import decide
from orchestrator.reconciler.tick import tick
from orchestrator.store import lease
from orchestrator.store.blobs import Blobs
from orchestrator.store.commands import fleet as fleet_commands
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.database import Database
from orchestrator.store.ingest import Piece, ingest
from orchestrator.store.lease import Lease
from orchestrator.store.migrate import migrate
from orchestrator.store.queries import fleet as fleet_queries
from tests.builders import LOCAL


class ControlPlane:
    """One life of the control plane; the next one opens the same files."""

    def __init__(self, folder: Path, rng: Random) -> None:
        self.database = Database(f"sqlite+aiosqlite:///{folder / 'podwright.db'}")
        self._blobs = Blobs(folder / "blobs")
        self._rng = rng
        self._lease = Lease("", 0, 0)

    async def begin(self, holder: str) -> None:
        """Start up and take the lease, as a successor does when the former leader's has lapsed."""
        await migrate(self.database)
        async with self.database.write() as tx:
            taken = await lease.take(tx, holder, await lease.read(tx))
        assert taken is not None
        self._lease = taken

    async def crash(self) -> None:
        """Nothing is given back; what was not committed is gone."""
        await self.database.close()

    async def submit(self, spec: JobSpec, now_ms: int) -> JobId:
        async with self.database.write() as tx:
            job_id, _ = await job_commands.submit(tx, spec, JobId(self._new_id("job")), now_ms)
        return job_id

    async def cancel(self, job_id: JobId, now_ms: int) -> None:
        async with self.database.write() as tx:
            await job_commands.cancel(tx, job_id, now_ms)

    async def tick(self, now_ms: int) -> None:
        await tick(self.database, decide, self._lease, self._new_id, now_ms)

    async def orders(self, now_ms: int) -> Orders:
        async with self.database.write() as tx:
            await fleet_commands.see_cluster(tx, LOCAL, now_ms)
        async with self.database.read() as tx:
            return orders_of(await fleet_queries.standing(tx, LOCAL), "/checkpoints", lambda attempt: f"t-{attempt}")

    async def take_facts(self, post: FactsPost) -> FactsReply:
        async with self.database.write() as tx:
            return FactsReply(dict(await fleet_commands.add_facts(tx, LOCAL, post.facts)))

    async def ingest(self, attempt_id: AttemptId, post: IngestPost, now_ms: int) -> IngestReply:
        pieces: Sequence[Piece] = [Piece(c.rank, c.stream, c.offset, base64.b64decode(c.data)) for c in post.chunks]
        return IngestReply(await ingest(self.database, self._blobs, attempt_id, pieces, now_ms))

    def _new_id(self, prefix: str) -> str:
        return f"{prefix}_{self._rng.getrandbits(64):016x}"
