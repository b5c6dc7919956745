"""A server with the history and a fleet that lives, for browsers to look at.

python -m tests.browser.site FOLDER: run one until Ctrl-C, to look at it oneself.
"""

import asyncio
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.ids import AttemptId
from tests.browser.cluster import Driver
from tests.browser.history import JOBS, write_history
from tests.orchestrator.client.server import Server


@dataclass(frozen=True, slots=True)
class Site:
    server: Server
    driver: Driver

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def token(self) -> str:
        return self.server.token()


@contextmanager
def open_site(folder: Path, jobs: int = JOBS) -> Iterator[Site]:
    state = folder / "state"
    state.mkdir(parents=True)
    file = state / "podwright.db"
    now_ms = int(time.time() * 1_000)
    writing = write_history(f"sqlite+aiosqlite:///{file}", state / "blobs", now_ms, jobs)
    with ThreadPoolExecutor(1) as thread:  # Playwright has an event loop of its own on the caller's
        thread.submit(asyncio.run, writing).result()
    resumed = _live_attempts(file)
    server = Server.start(state)
    try:
        driver = Driver(server.url, server.token("cluster"), resumed)
        driver.start()
        try:
            yield Site(server, driver)
        finally:
            driver.stop()
    finally:
        server.stop()


def _live_attempts(file: Path) -> dict[AttemptId, int]:
    asked = "SELECT id, step FROM attempts JOIN progress ON attempt_id = id WHERE ended_at_ms IS NULL"
    with sqlite3.connect(file) as database:
        return {AttemptId(id): int(step) for id, step in database.execute(asked)}


if __name__ == "__main__":
    where = Path(sys.argv[1])
    shutil.rmtree(where, ignore_errors=True)
    with open_site(where) as opened:
        print(f"{opened.url}  token: {opened.token}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("ended")
