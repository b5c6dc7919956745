"""The real application over a real database, driven by hand: ticks happen when a test says so."""

import asyncio
import base64
import itertools
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from orchestrator.api.app import create_app
from orchestrator.api.auth import attempt_token
from orchestrator.api.deps import Deps
from orchestrator.changes import Changes
from orchestrator.clock import SystemClock
from orchestrator.domain.access import Caller, Scope
from orchestrator.domain.ids import AttemptId
from orchestrator.protocol import FACTS_POST, VERSION, Fact, FactBody, FactsPost, HostInfo, SliceUp
from orchestrator.reconciler.decide import decide
from orchestrator.reconciler.tick import tick
from orchestrator.store import lease
from orchestrator.store.blobs import Blobs
from orchestrator.store.commands.apply import apply
from orchestrator.store.commands.tokens import add_token, token_hash
from orchestrator.store.database import Database
from orchestrator.store.lease import Lease
from orchestrator.store.migrate import migrate
from orchestrator.store.sealing import Seal
from tests.builders import NOW, a_slice

ADMIN, CLUSTER = "pwt_admin", "pwc_cluster"
SPEC: dict[str, Any] = {"name": "toy", "program": {"command": ["true"]}, "slices": "v5e:2x4"}


class NoticingClock(SystemClock):
    """Tells when somebody has begun to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = asyncio.Event()

    async def wait(self, event: asyncio.Event, span_ms: int) -> bool:
        self.waited.set()
        return await super().wait(event, span_ms)


class Rig:
    """One server and three callers: a user, a cluster, nobody."""

    def __init__(self, deps: Deps, held: Lease, clock: NoticingClock) -> None:
        self.deps = deps
        self.clock = clock
        self._held = held
        self.app = app = create_app(deps)
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.user = self.caller(ADMIN)
        self.cluster = self.caller(CLUSTER)
        self.nobody = self.caller(None)
        self.admin = Caller("tests", f"tok_{token_hash(ADMIN)[:16]}", admin=True, scope=Scope.ADMIN)
        self._sequence = itertools.count(1)

    def caller(self, token: str | None) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(transport=self._transport, base_url="http://server", headers=headers)

    def rank(self, attempt_id: str) -> httpx.AsyncClient:
        return self.caller(attempt_token(self.deps.server_key, AttemptId(attempt_id)))

    async def submit(self, **fields: Any) -> dict[str, Any]:
        answer = await self.user.post("/api/v1/jobs", json=SPEC | fields)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def job(self, name: str = "toy") -> dict[str, Any]:
        return dict((await self.user.get(f"/api/v1/jobs/{name}")).json())

    async def tell(self, *bodies: FactBody) -> httpx.Response:
        facts = tuple(Fact("tests", next(self._sequence), body) for body in bodies)
        return await self.cluster.post("/api/v1/link/facts", **as_json(FACTS_POST.dump_json(FactsPost(VERSION, facts))))

    async def slice_up(self, name: str = "pool-0") -> None:
        known = a_slice(name)
        hosts = tuple(HostInfo(host, f"node-{host}", "127.0.0.1", 4) for host in range(2))
        up = SliceUp("slice_up", known.id, known.incarnation, "pool", str(known.shape), "spot", hosts, NOW)
        assert (await self.tell(up)).status_code == 200
        await self.tick()

    async def tick(self) -> None:
        await tick(self.deps.database, decide, self._held, self.deps.new_id, self.deps.clock.now_ms())

    async def apply(self, changes: Changes) -> None:
        async with self.deps.database.write() as tx:
            await apply(tx, changes, self._held)

    async def running(self, **fields: Any) -> dict[str, Any]:
        """A job whose attempt is ordered."""
        await self.slice_up()
        submitted = await self.submit(**fields)
        await self.tick()
        return await self.job(submitted["id"])

    async def post(self, attempt_id: str, data: bytes, **chunk: Any) -> httpx.Response:
        encoded = base64.b64encode(data).decode()
        one = {"rank": 0, "stream": "spool", "offset": 0, "data": encoded} | chunk
        body = {"version": VERSION, "chunks": [one]}
        async with self.rank(attempt_id) as rank:
            return await rank.post(f"/api/v1/ingest/{attempt_id}", json=body)

    async def job_count(self) -> int:
        return len((await self.user.get("/api/v1/jobs")).json()["items"])


def as_json(body: bytes) -> dict[str, Any]:
    return {"content": body, "headers": {"Content-Type": "application/json"}}


async def make_template(path: Path) -> None:
    """A migrated database, made once and copied for every test."""
    database = Database(_url(path))
    await migrate(database)
    await database.close()


def _url(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"


@asynccontextmanager
async def open_rig(template: Path, folder: Path, busy_ms: int = 5_000) -> AsyncIterator[Rig]:
    shutil.copy(template, folder / "test.db")
    database = Database(_url(folder / "test.db"), busy_ms)
    async with database.write() as tx:
        held = await lease.take(tx, "tests", None)
        await add_token(tx, ADMIN, "admin", "tests", NOW)
        await add_token(tx, CLUSTER, "cluster", "local", NOW)
    assert held is not None
    numbers = itertools.count(1)
    deps = Deps(
        database,
        Blobs(folder / "blobs"),
        clock := NoticingClock(),
        lambda prefix: f"{prefix}_{next(numbers)}",
        server_key=b"key",
        checkpoint_root="gs://bucket/root",
        seal=Seal(b"key"),
    )
    rig = Rig(deps, held, clock)
    try:
        yield rig
    finally:
        for caller in (rig.user, rig.cluster, rig.nobody):
            await caller.aclose()
        await database.close()
