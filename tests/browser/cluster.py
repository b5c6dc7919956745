"""The fleet behind the browser's server: the tests' fake cluster, on the wall clock and over HTTP.

It goes on with the attempts that the history says are running, starts what is submitted, and writes to its logs.
"""

import base64
import threading
import time
from collections.abc import Mapping
from random import Random
from typing import Final

import httpx

from orchestrator.domain.ids import AttemptId
from orchestrator.domain.topology import SliceShape
from orchestrator.protocol import (
    FACTS_POST,
    FACTS_REPLY,
    INGEST_POST,
    INGEST_REPLY,
    ORDERS,
    VERSION,
    Chunk,
    IngestPost,
    Orders,
)
from tests.browser.history import POOLS, loss_at
from tests.fakes.cluster import FakeCluster, FakeSlice
from tests.fakes.gang import FakeGang, Latest

_EVERY_S: Final = 0.2


class Learner(FakeGang):
    """A gang whose loss falls as in the history."""

    def write(self, at_ms: int, **record: object) -> None:
        if record["type"] == "metrics":
            record["values"] = {"loss": loss_at(self.step, Random(self.step))}
        FakeGang.write(self, at_ms, **record)


class Fleet(FakeCluster):
    """The pools of the history; `resumed` says at which step its running attempts are."""

    def __init__(self, resumed: Mapping[AttemptId, int], now_ms: int) -> None:
        self._resumed = resumed
        self.out: dict[AttemptId, tuple[bytes, int]] = {}
        """Rank 0's output with how much of it is sent."""
        shapes = {f"{pool}-{n}": shape for pool, (shape, count) in POOLS.items() for n in range(count)}
        super().__init__(shapes, now_ms)

    def _join(self, id: str, shape: SliceShape, incarnation: int, now_ms: int) -> None:  # type: ignore[override]
        self.pool = id.rpartition("-")[0]
        super()._join(id, shape, incarnation, now_ms)  # type: ignore[arg-type]

    def obey(self, orders: Orders, now_ms: int) -> None:
        for run in orders.runs:
            on = self.slices[run.slices[0]]
            if run.attempt_id in self._resumed and run.attempt_id not in on.gangs:
                step = self._resumed[run.attempt_id]
                self.storage[run.job_id] = Latest(run.number, step)
                on.gangs[run.attempt_id] = Learner(run, now_ms, now_ms, first_step=step, step=step)
        super().obey(orders, now_ms)

    def _train(self, on: FakeSlice, gang: FakeGang, now_ms: int) -> None:
        before = gang.step
        super()._train(on, gang, now_ms)
        if gang.order.attempt_id in self._resumed:
            return
        text, sent = self.out.get(gang.order.attempt_id, (b"", 0))
        lines = "".join(f"\x1b[2mstep\x1b[0m {n} \x1b[32mok\x1b[0m\n" for n in range(before + 1, gang.step + 1))
        self.out[gang.order.attempt_id] = (text + lines.encode(), sent)


class Driver:
    """A thread that lets the fleet live."""

    def __init__(self, url: str, token: str, resumed: Mapping[AttemptId, int]) -> None:
        self._http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
        self.fleet = Fleet(resumed, _now_ms())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fleet")
        self.trouble: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._http.close()
        if self.trouble is not None:
            raise self.trouble

    def _run(self) -> None:
        try:
            while not self._stop.wait(_EVERY_S):
                self._turn()
        except (httpx.HTTPError, ValueError, AssertionError) as error:  # told when the test session stops the fleet
            self.trouble = error

    def _turn(self) -> None:
        now_ms = _now_ms()
        # A revision that there never is: answered at once.
        answer = self._http.get("/api/v1/link/orders", params={"revision": -1})
        if answer.status_code == 200:
            orders = ORDERS.validate_json(answer.content)
            self.fleet.obey(orders, now_ms)
        self.fleet.advance(now_ms)
        for gang, post in list(self.fleet.unsent()):
            text, sent = self.fleet.out.get(gang.order.attempt_id, (b"", 0))
            chunks = post.chunks
            if sent < len(text):
                chunks = (*chunks, Chunk(0, "stdout", sent, base64.b64encode(text[sent:]).decode()))
            self._report(gang, IngestPost(VERSION, chunks))
        post = FACTS_POST.dump_json(self.fleet.facts())
        told = self._http.post("/api/v1/link/facts", content=post, headers={"Content-Type": "application/json"})
        told.raise_for_status()
        self.fleet.acknowledge(FACTS_REPLY.validate_json(told.content))

    def _report(self, gang: FakeGang, post: IngestPost) -> None:
        headers = {"Authorization": f"Bearer {gang.order.token}", "Content-Type": "application/json"}
        path = f"/api/v1/ingest/{gang.order.attempt_id}"
        answer = self._http.post(path, content=INGEST_POST.dump_json(post), headers=headers)
        if answer.status_code != 200:
            gang.sent = len(gang.spool)  # over, and superseded: nobody wants it
            return
        for offset in INGEST_REPLY.validate_json(answer.content).offsets:
            if offset.stream == "spool":
                gang.sent = offset.offset
            else:
                self.fleet.out[gang.order.attempt_id] = (self.fleet.out[gang.order.attempt_id][0], offset.offset)


def _now_ms() -> int:
    return int(time.time() * 1_000)
