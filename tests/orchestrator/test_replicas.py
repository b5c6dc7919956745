"""Two servers on one PostgreSQL: the one that leads is killed, or paused, while jobs run."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from orchestrator.client import Client
from orchestrator.protocol import FACTS_POST, FACTS_REPLY, INGEST_POST, INGEST_REPLY, ORDERS
from tests.emulated import until
from tests.fakes.cluster import FakeCluster
from tests.orchestrator.client.server import Server

AT_ONCE = 8
HANDOVER_S = 5.0
DEADLINE_S = 60


class Driver(threading.Thread):
    """Runs a fake cluster against whichever server answers."""

    def __init__(self, pair: "Pair") -> None:
        super().__init__(daemon=True)
        self.cluster = FakeCluster({f"pool-{n}": "v5e:2x4" for n in range(4)}, _now_ms())
        self.epochs: list[int] = []
        """Of the orders, as they came."""
        self.trouble: Exception | None = None
        self._pair = pair
        self._token = pair.leader.token("cluster")
        self._over = threading.Event()

    def run(self) -> None:
        try:
            with httpx.Client(headers={"Content-Type": "application/json"}, timeout=1) as http:
                while not self._over.wait(0.02):
                    for server in (self._pair.leader, self._pair.follower):
                        with suppress(httpx.HTTPError):
                            self._speak(http, f"{server.url}/api/v1")
        except Exception as trouble:
            self.trouble = trouble
            raise

    def stop(self) -> None:
        self._over.set()
        self.join(10)
        assert self.trouble is None

    def _speak(self, http: httpx.Client, url: str) -> None:
        as_cluster = {"Authorization": f"Bearer {self._token}"}
        answer = http.get(f"{url}/link/orders", headers=as_cluster).raise_for_status()
        if answer.status_code == httpx.codes.NO_CONTENT:  # of a server that is ending
            return
        orders = ORDERS.validate_json(answer.content)
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
    """Two servers on one database, and which of them leads."""

    def __init__(self, url: str, folder: Path) -> None:
        self._database = url.replace("postgresql+psycopg", "postgresql")
        shared = ("--blobs", str(folder / "blobs"), "--server-key-file", str(folder / "key"))
        with ThreadPoolExecutor(2) as both:
            servers = list(both.map(lambda name: Server.start(folder / name, "--database-url", url, *shared), "ab"))
        self.leader = until(lambda: next((s for s in servers if "this server leads" in s.log), None), "one leads")
        self.follower = next(server for server in servers if server is not self.leader)
        self.driver = Driver(self)
        self.driver.start()

    def lease(self) -> tuple[str, int]:
        """Who leads, and in which epoch."""
        with psycopg.connect(self._database) as connection:
            row = connection.execute("SELECT holder, epoch FROM leases").fetchone()
        return ("", 0) if row is None else (row[0], row[1])

    def hand_over(self, signal_number: int) -> float:
        """Send the leader a signal that stops it; how many seconds later the other one led."""
        _, epoch = self.lease()
        self.leader.process.send_signal(signal_number)
        since = time.monotonic()
        while self.lease()[1] == epoch:
            assert time.monotonic() < since + DEADLINE_S
            time.sleep(0.02)
        self.leader, self.follower = self.follower, self.leader
        return time.monotonic() - since

    def close(self) -> None:
        for server in (self.leader, self.follower):
            if server.process.poll() is None:
                server.process.send_signal(signal.SIGCONT)
                server.stop()


@pytest.fixture
def pair(new_postgres_url: Callable[[], str], tmp_path: Path) -> Iterator[Pair]:
    opened = Pair(new_postgres_url(), tmp_path)
    try:
        yield opened
        opened.driver.stop()
    finally:
        opened.close()


def submit(client: Client, count: int) -> list[str]:
    """Jobs of which every fourth takes a while."""
    commands = [["sleep", "1"] if number % 4 == 0 else ["true"] for number in range(count)]
    specs = [{"name": "toy", "program": {"command": command}, "slices": "v5e:2x4"} for command in commands]
    return [str(client.submit(spec)["id"]) for spec in specs]


def check_that_each_ran_once(pair: Pair, client: Client, submitted: list[str]) -> None:
    ended = [client.wait(job, timeout_s=DEADLINE_S) for job in submitted]
    assert {job["state"] for job in ended} == {"SUCCEEDED"}, pair.driver.trouble
    assert {job["attempts"] for job in ended} == {1}
    started = [job for job, _ in pair.driver.cluster.starts if job in submitted]
    assert sorted(started) == sorted(submitted)
    for job in submitted:
        events = client.events(job)
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        edges = [(e["data"]["from"], e["data"]["to"]) for e in events if e["kind"] == "job.state"]
        assert edges == [("QUEUED", "STARTING"), ("STARTING", "RUNNING"), ("RUNNING", "SUCCEEDED")]


def test_leadership_passes_on_when_the_leader_is_paused_and_when_it_is_killed(pair: Pair) -> None:
    first, _ = pair.lease()
    with pair.follower.client() as client:
        submitted = submit(client, AT_ONCE)
        after_pause_s = pair.hand_over(signal.SIGSTOP)
        submitted += submit(client, AT_ONCE)
        pair.follower.process.send_signal(signal.SIGCONT)
        check_that_each_ran_once(pair, client, submitted)
    with pair.follower.client() as client:  # it that woke up has no power, but serves as any other
        submitted = submit(client, AT_ONCE)
        assert pair.lease()[1] == 2
        after_kill_s = pair.hand_over(signal.SIGKILL)  # and leads again, when it is its turn
        submitted += submit(client, AT_ONCE)
        check_that_each_ran_once(pair, client, submitted)
    assert pair.lease() == (first, 3)
    heard = pair.driver.epochs
    print(f"handed over {after_pause_s:.2f} s after a pause, {after_kill_s:.2f} s after a kill")
    assert heard == sorted(heard)
    assert set(heard) == {1, 2, 3}
    assert max(after_pause_s, after_kill_s) < HANDOVER_S


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
