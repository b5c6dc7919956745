"""Many jobs on two control planes of which one is killed (B25); many ended ones beside reports and a backup (B26)."""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from sqlalchemy import func, select

from orchestrator.client import Client
from orchestrator.store.database import Database
from orchestrator.store.schema import points
from tests import postgres as postgresql
from tests.benchmarks.crowd import fill
from tests.benchmarks.slices import occupy
from tests.emulated import until
from tests.orchestrator.client.server import REPOSITORY, Server
from tests.orchestrator.driver import Driver

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

JOBS, SLICES = 200, 24
ENDED, WORKERS, QUEUED = 10_000, 50, 500
LOADED_S, REPORT_EVERY_S, CANCELLED_S = 30, 0.1, 10
MOST_BYTES = 300_000
"""Of a page of 50."""


def test_two_control_planes_of_which_one_is_killed_run_each_job_once(
    new_postgres_url: Callable[[], str], tmp_path: Path
) -> None:
    url = new_postgres_url()
    shared = ("--database-url", url, "--blobs", str(tmp_path / "blobs"), "--server-key-file", str(tmp_path / "key"))
    servers = [Server.start(tmp_path / name, *shared) for name in "ab"]
    driver = Driver(lambda: servers, SLICES)
    driver.start()
    try:
        submitted = submit_all(servers[1])
        with servers[1].client() as client, psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as looking:
            while True:
                ended = Counter(job["state"] for job in all_jobs(client))
                held = looking.execute("SELECT count(*), count(DISTINCT slice_id) FROM placements").fetchone()
                assert held is not None
                assert held[0] == held[1] <= SLICES
                if ended["SUCCEEDED"] >= JOBS // 2 and servers[0].process.poll() is None:
                    servers[0].process.send_signal(signal.SIGKILL)
                    servers[0].process.wait()
                    servers[0] = Server.start(tmp_path / "c", *shared)  # as in an upgrade: one goes, one comes
                if ended["SUCCEEDED"] == JOBS:
                    break
                time.sleep(0.2)
            jobs = all_jobs(client)
        assert Counter(job["attempts"] for job in jobs) == {1: JOBS}
        assert Counter(job for job, _ in driver.cluster.starts) == Counter(submitted)
        driver.stop()
    finally:
        for server in servers:
            server.stop()


def submit_all(server: Server) -> list[str]:
    toy = {"name": "toy", "program": {"command": ["sleep", "1"]}, "slices": "v5e:2x4"}
    with server.client() as client, ThreadPoolExecutor(4) as several:
        return list(several.map(lambda _: str(client.submit(toy)["id"]), range(JOBS)))


def all_jobs(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = client.jobs(limit=200, cursor=cursor)
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def test_beside_reports_and_backups_lists_stay_short_and_nothing_is_dropped(database_url: str, tmp_path: Path) -> None:
    options = ("--database-url", database_url)
    Server.start(tmp_path / "state", *options).stop()
    asyncio.run(occupy(Database(database_url), WORKERS, time.time_ns() // 1_000_000))
    ids = asyncio.run(fill(Database(database_url), ENDED))
    server = Server.start(tmp_path / "state", *options)
    over = threading.Event()
    backing_up = threading.Thread(target=back_up_until, args=(over, database_url, tmp_path))
    reporters = [sys.executable, "-m", "tests.benchmarks.slices", server.url, str(tmp_path / "state" / "server.key")]
    try:
        process = psutil.Process(server.process.pid)
        with httpx.Client(base_url=f"{server.url}/api/v1", headers=bearer(server), timeout=60, trust_env=False) as http:
            toy = {"name": "queued", "program": {"command": ["true"]}, "slices": "v5e:4x4"}
            made = http.post("/jobs/bulk", json={"jobs": [toy] * QUEUED}).raise_for_status().json()["items"]
            list_for(http, 2)  # what is made once is made
            files, resident = process.num_fds(), process.memory_info().rss
            backing_up.start()
            counts = [str(WORKERS), str(LOADED_S), str(REPORT_EVERY_S)]
            with subprocess.Popen(
                [*reporters, *counts], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
            ) as reporting:
                spans, largest = list_for(http, LOADED_S)
                told = json.loads(reporting.communicate(timeout=300)[0])
            over.set()
            backing_up.join()
            which = {"ids": ids[: 2_000 - QUEUED] + [job["id"] for job in made]}
            began = time.monotonic()
            asked = http.post("/jobs/ask", json={"verb": "cancel", "which": which}).raise_for_status().json()
            cancelled_in_s = time.monotonic() - began
            assert len(asked["asked"]) == QUEUED
            until(lambda: not http.get("/jobs", params={"state": "QUEUED"}).json()["items"] or None, "all have ended")
        grown = process.memory_info().rss - resident
        print(f"list p99 {sorted(spans)[int(len(spans) * 0.99)] * 1e3:.0f} ms, at most {largest / 1e3:.0f} kB")
        print(f"{QUEUED} of 2,000 cancelled in {cancelled_in_s:.1f} s; {told}; memory grew by {grown / 2**20:.0f} MiB")
        assert told["sent"] == told["written"]
        assert asyncio.run(count_points(Database(database_url))) == 2 * told["steps"]
        assert largest < MOST_BYTES
        assert cancelled_in_s < CANCELLED_S
        assert process.num_fds() < files + 20
        assert grown < 50 * 2**20
        assert "Traceback" not in server.log
    finally:
        over.set()
        server.stop()


def bearer(server: Server) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token()}"}


def list_for(http: httpx.Client, seconds: float) -> tuple[list[float], int]:
    """How long each page of 50 took, and how many bytes the largest had."""
    spans, largest, until_s = [], 0, time.monotonic() + seconds
    for asked in itertools.cycle(({}, {"state": "FAILED"}, {"name": "job-7"}, {"project": "project-3"})):
        began = time.monotonic()
        answer = http.get("/jobs", params={"limit": "50", **asked}).raise_for_status()
        spans.append(time.monotonic() - began)
        largest = max(largest, len(answer.content))
        if began > until_s:
            return spans, largest
    raise AssertionError


def back_up_until(over: threading.Event, database_url: str, folder: Path) -> None:
    """Copy after copy. PostgreSQL's own programs come first in the path."""
    programs = postgresql.binaries()
    path = os.environ["PATH"] if programs is None else f"{programs}:{os.environ['PATH']}"
    for number in itertools.count():
        command = [sys.executable, "-m", "orchestrator.backup", "--state-dir", str(folder), str(folder / f"b{number}")]
        environ = os.environ | {"PATH": path, "PODWRIGHT_DATABASE_URL": database_url}
        subprocess.run(command, env=environ, cwd=REPOSITORY, check=True, capture_output=True)
        (folder / f"b{number}").unlink()
        if over.wait(1):
            return


async def count_points(database: Database) -> int:
    async with database.read() as tx:
        found = (await tx.ask(select(func.count()).select_from(points))).scalar_one()
    await database.close()
    return int(found)
