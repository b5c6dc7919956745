"""Two servers on one PostgreSQL: the one that leads is killed, or paused, while jobs run."""

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from orchestrator.client import Client
from orchestrator.protocol import FACTS_POST, FACTS_REPLY, INGEST_POST, INGEST_REPLY, ORDERS
from tests.fakes.cluster import FakeCluster
from tests.orchestrator.client.server import Server

pytestmark = pytest.mark.long

JOBS = 24
HANDOVER_S = 5.0
DEADLINE_S = 120


class Driver(threading.Thread):
    """Runs a fake cluster against whichever server answers."""

    def __init__(self, servers: list[Server]) -> None:
        super().__init__(daemon=True)
        self.cluster = FakeCluster({f"pool-{n}": "v5e:2x4" for n in range(4)}, _now_ms())
        self.epochs: list[int] = []
        """Of the orders, as they came."""
        self._urls = [f"{server.url}/api/v1" for server in servers]
        self._token = servers[0].token("cluster")
        self._over = threading.Event()

    def run(self) -> None:
        with httpx.Client(headers={"Content-Type": "application/json"}, timeout=2) as http:
            for url in itertools.cycle(self._urls):
                if self._over.wait(0.05):
                    return
                with suppress(httpx.HTTPError):
                    self._speak(http, url)

    def stop(self) -> None:
        self._over.set()
        self.join(10)

    def _speak(self, http: httpx.Client, url: str) -> None:
        as_cluster = {"Authorization": f"Bearer {self._token}"}
        orders = ORDERS.validate_json(http.get(f"{url}/link/orders", headers=as_cluster).raise_for_status().content)
        self.epochs.append(orders.epoch)
        self.cluster.obey(orders, _now_ms())
        self.cluster.advance(_now_ms())
        facts = FACTS_POST.dump_json(self.cluster.facts())
        kept = http.post(f"{url}/link/facts", content=facts, headers=as_cluster).raise_for_status()
        self.cluster.acknowledge(FACTS_REPLY.validate_json(kept.content))
        for gang, post in list(self.cluster.unsent()):
            as_rank = {"Authorization": f"Bearer {gang.order.token}"}
            sent = http.post(
                f"{url}/ingest/{gang.order.attempt_id}", content=INGEST_POST.dump_json(post), headers=as_rank
            )
            self.cluster.stored(gang, INGEST_REPLY.validate_json(sent.raise_for_status().content))


class Pair:
    """The servers, the first of which leads, and their database."""

    def __init__(self, url: str, folder: Path) -> None:
        self._database = url.replace("postgresql+psycopg", "postgresql")
        shared = ("--database-url", url, "--blobs", str(folder / "blobs"), "--server-key-file", str(folder / "key"))
        self.leader = Server.start(folder / "a", *shared)
        self._until(lambda: self.lease()[1] >= 1)
        self.follower = Server.start(folder / "b", *shared)
        self.driver = Driver([self.leader, self.follower])
        self.driver.start()

    def lease(self) -> tuple[str, int]:
        """Who leads, and in which epoch."""
        with psycopg.connect(self._database) as connection:
            row = connection.execute("SELECT holder, epoch FROM leases").fetchone()
        return ("", 0) if row is None else (row[0], row[1])

    def handed_over_in_s(self, since: float) -> float:
        """How long after `since` the second epoch began."""
        self._until(lambda: self.lease()[1] >= 2)
        return time.monotonic() - since

    def close(self) -> None:
        self.driver.stop()
        for server in (self.leader, self.follower):
            if server.process.poll() is None:
                server.process.send_signal(signal.SIGCONT)
                server.stop()

    def _until(self, came: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not came():
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.fixture
def pair(new_postgres_url: Callable[[], str], tmp_path: Path) -> Iterator[Pair]:
    opened = Pair(new_postgres_url(), tmp_path)
    yield opened
    opened.close()


def submit(client: Client, number: int) -> str:
    command = ["sleep", "2"] if number % 4 == 0 else ["true"]
    spec = {"name": f"toy-{number}", "program": {"command": command}, "slices": "v5e:2x4"}
    return str(client.submit(spec)["id"])


def check_that_nothing_ran_twice_or_was_lost(pair: Pair, client: Client, submitted: list[str]) -> None:
    ended = [client.wait(job, timeout_s=DEADLINE_S) for job in submitted]
    assert {job["state"] for job in ended} == {"SUCCEEDED"}
    assert {job["attempts"] for job in ended} == {1}
    started = pair.driver.cluster.starts
    assert len(started) == len(set(started)) == len(submitted)
    for job in submitted:
        events = client.events(job)
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        edges = [(e["data"]["from"], e["data"]["to"]) for e in events if e["kind"] == "job.state"]
        assert edges == [("QUEUED", "STARTING"), ("STARTING", "RUNNING"), ("RUNNING", "SUCCEEDED")]


def test_when_the_leader_is_killed_the_other_goes_on(pair: Pair) -> None:
    with pair.follower.client() as client:
        submitted = [submit(client, number) for number in range(JOBS // 2)]
        pair.leader.kill()
        handed_over_in_s = pair.handed_over_in_s(time.monotonic())
        submitted += [submit(client, number) for number in range(JOBS // 2, JOBS)]
        check_that_nothing_ran_twice_or_was_lost(pair, client, submitted)
    print(f"handed over in {handed_over_in_s:.2f} s; {JOBS} jobs, {len(pair.driver.cluster.starts)} starts")
    assert handed_over_in_s < HANDOVER_S


def test_a_leader_that_was_paused_wakes_up_without_power(pair: Pair) -> None:
    first, _ = pair.lease()
    with pair.follower.client() as client:
        submitted = [submit(client, number) for number in range(JOBS // 2)]
        os.kill(pair.leader.process.pid, signal.SIGSTOP)
        handed_over_in_s = pair.handed_over_in_s(time.monotonic())
        submitted += [submit(client, number) for number in range(JOBS // 2, JOBS)]
        second, epoch = pair.lease()
        os.kill(pair.leader.process.pid, signal.SIGCONT)
        check_that_nothing_ran_twice_or_was_lost(pair, client, submitted)
        later = [submit(client, number) for number in range(JOBS, JOBS + 4)]
        check_that_nothing_ran_twice_or_was_lost(pair, client, submitted + later)
    assert pair.lease() == (second, epoch) != (first, epoch)
    heard = pair.driver.epochs
    print(f"handed over in {handed_over_in_s:.2f} s; epochs heard: {sorted(set(heard))}")
    assert heard[heard.index(2) :] == [2] * (len(heard) - heard.index(2))
    assert handed_over_in_s < HANDOVER_S


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
