"""Two servers on one PostgreSQL: the one that leads is killed, or paused, while jobs run."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from orchestrator.client import Client
from tests.emulated import until
from tests.orchestrator.client.server import Server
from tests.orchestrator.driver import Driver

AT_ONCE = 8
HANDOVER_S = 5.0
DEADLINE_S = 60


class Pair:
    """Two servers on one database, and which of them leads."""

    def __init__(self, url: str, folder: Path) -> None:
        self._database = url.replace("postgresql+psycopg", "postgresql")
        shared = ("--blobs", str(folder / "blobs"), "--server-key-file", str(folder / "key"))
        with ThreadPoolExecutor(2) as both:
            servers = list(both.map(lambda name: Server.start(folder / name, "--database-url", url, *shared), "ab"))
        self.leader = until(lambda: next((s for s in servers if "this server leads" in s.log), None), "one leads")
        self.follower = next(server for server in servers if server is not self.leader)
        self.driver = Driver(lambda: (self.leader, self.follower))
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
