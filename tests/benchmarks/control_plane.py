"""The control plane's figures: one JSON line each. `make bench FIGURE=control_plane`; some minutes on two cores.

python -m tests.benchmarks.control_plane [submits] [reads] [slices]

Ratios of one run: both sides of each are measured here, one after the other, over the same HTTP client.
"""

import asyncio
import contextlib
import itertools
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil
from sqlalchemy import func, select

from orchestrator.store.database import Database
from orchestrator.store.schema import points
from tests import postgres
from tests.benchmarks.crowd import EVENTS_EACH, fill
from tests.benchmarks.figure import Figure, at_most
from tests.benchmarks.slices import occupy
from tests.orchestrator.client.server import REPOSITORY, Server

SUBMITS, AT_ONCE, ROUNDS = 400, 16, 2
READS = 200
FEW, MANY = 1_000, 100_000
SLICES, SECONDS, EVERY_S = 1_000, 20, 0.1
SPEC = {"name": "toy", "program": {"command": ["true"]}, "slices": "v5e:2x4"}
MOST_IDLE_MB = 150
MOST_GROWTH = 1.1
"""Of memory, from one half of a loaded while to its end: what is kept per request would show as more."""


def figures(folder: Path, chosen: Sequence[str]) -> Iterator[Figure]:
    """Those of the parts that are named: submits, reads, slices."""
    with contextlib.ExitStack() as stack:
        programs = postgres.binaries()
        running = None if programs is None else stack.enter_context(postgres.running(programs, durable=True))
        numbers = itertools.count()

        def urls() -> Iterator[tuple[str, str | None]]:
            yield "sqlite", None
            if running is not None:
                yield "postgresql", running.create(f"bench{next(numbers)}")

        if "submits" in chosen:
            for name, url in urls():
                bare_url = None if running is None or url is None else running.create(f"bench{next(numbers)}")
                yield from _submits(name, folder, url, bare_url)
        if "reads" in chosen:
            yield from _reads(folder, dict(urls()), dict(urls()))
        if "slices" in chosen:
            for name, url in urls():
                yield from _slices(name, folder / f"slices-{name}", url)


def _submits(name: str, folder: Path, url: str | None = None, bare_url: str | None = None) -> Iterator[Figure]:
    server = Server.start(folder / name, *(("--database-url", url) if url else ()))
    try:
        if name == "sqlite":
            idle = psutil.Process(server.process.pid).memory_info().rss / 2**20
            yield at_most("idle memory", idle, MOST_IDLE_MB, "MiB", "resident, just started, SQLite")
        bare_url = bare_url or f"sqlite+aiosqlite:///{folder / 'bare.db'}"
        port = _free_port()
        bare = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.bare", bare_url, str(port)], cwd=REPOSITORY)
        try:
            asyncio.run(_wait_for(f"http://127.0.0.1:{port}/docs"))
            headers = {"Authorization": f"Bearer {server.token()}"}
            ours = theirs = 0.0
            for _ in range(ROUNDS):  # in turn: what else the machine does meets both
                theirs += asyncio.run(_rate(f"http://127.0.0.1:{port}/submit", {}))
                ours += asyncio.run(_rate(f"{server.url}/api/v1/jobs", headers))
        finally:
            bare.terminate()
            bare.wait()
    finally:
        server.stop()
    how = f"submits/s: ours {ours / ROUNDS:,.0f}, one INSERT and COMMIT {theirs / ROUNDS:,.0f}; {AT_ONCE} at once"
    yield Figure(f"submit/{name}", ours / theirs, "times", "at least 0.5", ours >= 0.5 * theirs, how)


async def _rate(url: str, headers: dict[str, str]) -> float:
    async with httpx.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one() -> None:
            async with gate:
                (await http.post(url, json=SPEC)).raise_for_status()

        await asyncio.gather(*(one() for _ in range(AT_ONCE)))  # connections open, imports done
        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(SUBMITS)))
        return SUBMITS / (time.perf_counter() - began)


async def _wait_for(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        while True:
            try:
                await http.get(url)
                return
            except httpx.TransportError:
                await asyncio.sleep(0.1)


def _reads(folder: Path, few_urls: dict[str, str | None], many_urls: dict[str, str | None]) -> Iterator[Figure]:
    """Lists, filters and single jobs: with many jobs and events against few."""
    for database, few_url in few_urls.items():
        few = _p99(folder / f"few-{database}", few_url, FEW)
        many = _p99(folder / f"many-{database}", many_urls[database], MANY)
        for name in few:
            how = f"p99 {many[name] * 1e3:.1f} ms with {MANY:,} jobs and {MANY * EVENTS_EACH:,} events"
            how += f", {few[name] * 1e3:.1f} ms with {FEW:,} jobs"
            yield at_most(f"read/{database}/{name}", many[name] / few[name], 3.0, "times", how)


def _p99(state_dir: Path, url: str | None, jobs: int) -> dict[str, float]:
    options = ("--database-url", url) if url else ()
    Server.start(state_dir, *options).stop()  # migrates
    ids = asyncio.run(fill(Database(url or f"sqlite+aiosqlite:///{state_dir / 'podwright.db'}"), jobs))
    server = Server.start(state_dir, *options)
    try:
        headers = {"Authorization": f"Bearer {server.token()}"}
        with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=60, trust_env=False) as http:
            asked: dict[str, tuple[str, dict[str, Any]]] = {
                "list": ("/jobs", {"limit": 50}),
                "list deep": ("/jobs", {"limit": 50, "cursor": str(jobs // 2)}),
                "filter by state": ("/jobs", {"state": "FAILED", "limit": 50}),
                "filter by a state of none": ("/jobs", {"state": "RUNNING", "limit": 50}),
                "filter by name": ("/jobs", {"name": "job-7", "limit": 50}),
                "filter by project": ("/jobs", {"project": "project-7", "limit": 50}),
                "filter by owner": ("/jobs", {"owner": "owner-7", "limit": 50}),
                "filter by an owner of none": ("/jobs", {"owner": "nobody", "limit": 50}),
                "get": (f"/jobs/{ids[jobs // 2]}", {}),
                "events of a job": (f"/jobs/{ids[jobs // 2]}/events", {}),
            }
            return {name: _time(http, path, params) for name, (path, params) in asked.items()}
    finally:
        server.stop()


def _time(http: httpx.Client, path: str, params: dict[str, Any]) -> float:
    spans = []
    for _ in range(READS):
        began = time.perf_counter()
        http.get(path, params=params).raise_for_status()
        spans.append(time.perf_counter() - began)
    return _p99_of(spans)


def _slices(name: str, state_dir: Path, url: str | None) -> Iterator[Figure]:
    """Submits beside many slices that report each second, against submits beside the same slices in silence."""
    options = ("--database-url", url) if url else ()
    Server.start(state_dir, *options).stop()
    database = Database(url or f"sqlite+aiosqlite:///{state_dir / 'podwright.db'}")
    asyncio.run(occupy(database, SLICES, time.time_ns() // 1_000_000))
    server = Server.start(state_dir, *options)
    try:
        resident = psutil.Process(server.process.pid).memory_info
        quiet = _submit_for(server, SECONDS / 2)
        key = str(state_dir / "server.key")
        reporters = [sys.executable, "-m", "tests.benchmarks.slices", server.url, key, str(SLICES), str(SECONDS)]
        with subprocess.Popen(reporters, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as reporting:
            loaded = _submit_for(server, SECONDS / 2)
            half_way = resident().rss
            loaded += _submit_for(server, SECONDS / 2)
            grown = resident().rss / half_way
            said = reporting.communicate()[0]
        told = json.loads(said)
        kept = asyncio.run(_points(Database(url or f"sqlite+aiosqlite:///{state_dir / 'podwright.db'}")))
    finally:
        server.stop()
    lost = told["written"] - told["sent"] + 2 * told["steps"] - kept
    how = f"{told['steps']:,} steps of {SLICES:,} slices, {kept:,} points kept; wanted one step per slice and second"
    yield Figure(f"slices/{name}/lost", lost, "bytes and points", "0", lost == 0, how)
    rate = told["steps"] / SLICES / SECONDS
    yield Figure(f"slices/{name}/rate", rate, "posts per slice and second", "at least 0.9", rate >= 0.9, how)
    before, beside = _p99_of(quiet), _p99_of(loaded)
    how = f"submit p99 {beside * 1e3:.1f} ms beside them, {before * 1e3:.1f} ms without; one each {EVERY_S} s"
    yield at_most(f"slices/{name}/submit", beside / before, 2.0, "times", how)
    yield at_most(
        f"slices/{name}/memory", grown, MOST_GROWTH, "times", f"resident, over {SECONDS / 2:.0f} s of reports"
    )


def _submit_for(server: Server, seconds: float) -> list[float]:
    headers, spans = {"Authorization": f"Bearer {server.token()}"}, []
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=60, trust_env=False) as http:
        until = time.perf_counter() + seconds
        while (began := time.perf_counter()) < until:
            http.post("/jobs", json=SPEC).raise_for_status()
            spans.append(time.perf_counter() - began)
            time.sleep(max(0.0, EVERY_S - spans[-1]))
    return spans


def _p99_of(spans: list[float]) -> float:
    return sorted(spans)[int(len(spans) * 0.99)]


async def _points(database: Database) -> int:
    async with database.read() as tx:
        found = (await tx.ask(select(func.count()).select_from(points))).scalar_one()
    await database.close()
    return int(found)


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def main() -> int:
    met, chosen = True, sys.argv[1:] or ("submits", "reads", "slices")
    with tempfile.TemporaryDirectory(prefix="podwright-bench-") as folder:
        for figure in figures(Path(folder), chosen):
            print(figure.line(), flush=True)
            met = met and figure.met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
