"""A thousand slices that report: as supervisors do, one request in flight per slice, made each second from what is new.

python -m tests.benchmarks.slices URL KEY_FILE SLICES SECONDS [EVERY_SECONDS]
prints what was reported and how much of it the server has acknowledged. A process of its own, and plain sockets: the
reporters shall not be what is measured.
"""

import asyncio
import base64
import json
import random
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import insert

from orchestrator.api.auth import attempt_token
from orchestrator.domain.ids import AttemptId
from orchestrator.domain.lifecycle import JobState
from orchestrator.protocol import VERSION
from orchestrator.store import rows
from orchestrator.store.commands.fleet import see_cluster
from orchestrator.store.database import Database
from orchestrator.store.schema import attempts, jobs, placements, slices
from tests.builders import LOCAL, a_job, a_slice, an_attempt


def attempt_id(number: int) -> AttemptId:
    return AttemptId(f"att_run_{number}_1")


async def occupy(database: Database, count: int, now_ms: int) -> None:
    """Slices, each with a job that runs on it."""
    numbers = range(count)
    running = [a_job(f"run_{n}", JobState.RUNNING, at=now_ms, name=f"run-{n}") for n in numbers]
    live = [an_attempt(f"run_{n}", slices=(f"slice-{n}",), ordered_at_ms=now_ms, ready_at_ms=now_ms) for n in numbers]
    async with database.write() as tx:
        await see_cluster(tx, LOCAL, now_ms)
        await tx.tell(insert(slices), [rows.slice_row(a_slice(f"slice-{n}", updated_at_ms=now_ms)) for n in numbers])
        await tx.tell(insert(jobs), [rows.new_job_row(job) for job in running])
        await tx.tell(insert(attempts), [rows.attempt_row(one) for one in live])
        await tx.tell(insert(placements), [{"slice_id": one.slices[0], "attempt_id": one.id} for one in live])
    await database.close()


class Slice:
    """One supervisor with one rank that makes a step each second."""

    def __init__(self, url: str, key: bytes, number: int, every_s: float) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname, parts.port
        self._attempt = attempt_id(number)
        self._token = attempt_token(key, self._attempt)
        self._every_s = every_s
        self._spool = b""
        self.steps = 0
        self.sent = 0
        """Bytes that the server has acknowledged."""

    @property
    def written(self) -> int:
        return len(self._spool)

    async def run(self, until: float) -> None:
        await asyncio.sleep(random.random() * self._every_s)
        reader, writer = await asyncio.open_connection(self._host, self._port)
        while time.monotonic() < until or self.sent < self.written:
            began = time.monotonic()
            if began < until:
                self._make_a_step()
            writer.write(self._request())
            await writer.drain()
            self.sent = await _offset(reader)
            await asyncio.sleep(max(0.0, began + self._every_s - time.monotonic()))
        writer.close()

    def _make_a_step(self) -> None:
        self.steps += 1
        at_ms = time.time_ns() // 1_000_000
        step = {"at_ms": at_ms, "step": self.steps}
        measured = {"loss": 1 / self.steps, "tokens_per_s": 1000.0 + self.steps}
        for record in ({"type": "progress", **step}, {"type": "metrics", **step, "values": measured}):
            self._spool += json.dumps(record).encode() + b"\n"

    def _request(self) -> bytes:
        data = base64.b64encode(self._spool[self.sent :]).decode()
        chunk = {"rank": 0, "stream": "spool", "offset": self.sent, "data": data}
        body = json.dumps({"version": VERSION, "chunks": [chunk]}).encode()
        head = (
            f"POST /api/v1/ingest/{self._attempt} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {self._token}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


async def _offset(reader: asyncio.StreamReader) -> int:
    status, length = await reader.readline(), 0
    while (line := await reader.readline()).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    body = await reader.readexactly(length)
    if b" 200 " not in status:
        raise RuntimeError(f"{status!r}: {body[:300]!r}")
    return int(json.loads(body)["offsets"][0]["offset"])


async def _report(url: str, key: bytes, count: int, seconds: float, every_s: float = 1.0) -> None:
    random.seed(1)
    crowd = [Slice(url, key, number, every_s) for number in range(count)]
    until = time.monotonic() + seconds
    await asyncio.gather(*(one.run(until) for one in crowd))
    fields = {name: sum(getattr(one, name) for one in crowd) for name in ("steps", "written", "sent")}
    print(json.dumps(fields))


if __name__ == "__main__":
    _, url, key_file, count, *spans = sys.argv
    asyncio.run(_report(url, bytes.fromhex(Path(key_file).read_text()), int(count), *map(float, spans)))
