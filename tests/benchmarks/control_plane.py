"""The control plane's figures: one JSON line each. `make bench FIGURE=control_plane`; some minutes on two cores.

Ratios of one run: both sides of each are measured here, one after the other, over the same HTTP client.
"""

import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

from orchestrator.store.database import Database
from tests import postgres
from tests.benchmarks.crowd import fill
from tests.benchmarks.figure import Figure, at_most
from tests.orchestrator.client.server import REPOSITORY, Server

SUBMITS, AT_ONCE, ROUNDS = 400, 16, 2
READS = 200
SPEC = {"name": "toy", "program": {"command": ["true"]}, "slices": "v5e:2x4"}
MOST_IDLE_MB = 150


def figures(folder: Path) -> Iterator[Figure]:
    yield from _submits("sqlite", folder)
    programs = postgres.binaries()
    if programs is not None:
        with postgres.running(programs, durable=True) as server:
            yield from _submits("postgresql", folder, server.create("bench"), server.create("bare"))
    yield from _reads(folder)


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


def _reads(folder: Path) -> Iterator[Figure]:
    """Lists, filters and single jobs: with many jobs and events against few."""
    p99 = {size: _p99(folder / f"reads-{size}", size) for size in (1_000, 100_000)}
    for name, few in p99[1_000].items():
        many = p99[100_000][name]
        how = f"p99 {many * 1e3:.1f} ms with 100,000 jobs and 1,000,000 events, {few * 1e3:.1f} ms with 1,000 jobs"
        yield at_most(f"read/{name}", many / few, 3.0, "times", how)


def _p99(state_dir: Path, jobs: int) -> dict[str, float]:
    Server.start(state_dir).stop()  # migrates
    ids = asyncio.run(fill(Database(f"sqlite+aiosqlite:///{state_dir / 'podwright.db'}"), jobs))
    server = Server.start(state_dir)
    try:
        headers = {"Authorization": f"Bearer {server.token()}"}
        with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=60, trust_env=False) as http:
            asked: dict[str, tuple[str, dict[str, Any]]] = {
                "list": ("/jobs", {"limit": 50}),
                "list deep": ("/jobs", {"limit": 50, "cursor": str(jobs // 2)}),
                "filter by state": ("/jobs", {"state": "FAILED", "limit": 50}),
                "filter by name": ("/jobs", {"name": "job-7", "limit": 50}),
                "filter by project": ("/jobs", {"project": "default", "limit": 50}),
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
    return sorted(spans)[int(len(spans) * 0.99)]


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def main() -> int:
    met = True
    with tempfile.TemporaryDirectory(prefix="podwright-bench-") as folder:
        for figure in figures(Path(folder)):
            print(figure.line(), flush=True)
            met = met and figure.met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
