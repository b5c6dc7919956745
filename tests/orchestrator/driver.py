"""A fake cluster that talks to real servers."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import httpx

from orchestrator.protocol import FACTS_POST, FACTS_REPLY, INGEST_POST, INGEST_REPLY, ORDERS
from tests.fakes.cluster import FakeCluster
from tests.orchestrator.client.server import Server


class Driver(threading.Thread):
    """Runs a fake cluster against whichever server answers."""

    def __init__(self, servers: Callable[[], Sequence[Server]], slices: int = 4) -> None:
        super().__init__(daemon=True)
        self.cluster = FakeCluster({f"pool-{n}": "v5e:2x4" for n in range(slices)}, _now_ms())
        self.epochs: list[int] = []
        """Of the orders, as they came."""
        self.trouble: Exception | None = None
        self._servers = servers
        self._token = servers()[0].token("cluster")
        self._over = threading.Event()

    def run(self) -> None:
        try:
            with httpx.Client(headers={"Content-Type": "application/json"}, timeout=1) as http:
                while not self._over.wait(0.02):
                    for server in self._servers():
                        with suppress(httpx.HTTPError):
                            self._speak(http, f"{server.url}/api/v1")
        except Exception as trouble:
            self.trouble = trouble
            raise

    def stop(self) -> None:
        self._over.set()
        self.join(10)
        assert self.trouble is None

    def tell(self, http: httpx.Client, url: str) -> None:
        """Post the facts, and hear no orders."""
        as_cluster = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        facts = FACTS_POST.dump_json(self.cluster.facts())
        kept = http.post(f"{url}/link/facts", content=facts, headers=as_cluster).raise_for_status()
        self.cluster.acknowledge(FACTS_REPLY.validate_json(kept.content))

    def _speak(self, http: httpx.Client, url: str) -> None:
        as_cluster = {"Authorization": f"Bearer {self._token}"}
        answer = http.get(f"{url}/link/orders", headers=as_cluster).raise_for_status()
        if answer.status_code == httpx.codes.NO_CONTENT:  # of a server that is ending
            return
        orders = ORDERS.validate_json(answer.content)
        self.epochs.append(orders.epoch)
        self.cluster.obey(orders, _now_ms())
        self.cluster.advance(_now_ms())
        self.tell(http, url)
        for gang, post in list(self.cluster.unsent()):
            as_rank = {"Authorization": f"Bearer {gang.order.token}"}
            sent = http.post(
                f"{url}/ingest/{gang.order.attempt_id}", content=INGEST_POST.dump_json(post), headers=as_rank
            )
            self.cluster.stored(gang, INGEST_REPLY.validate_json(sent.raise_for_status().content))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
