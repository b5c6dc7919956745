"""The database is locked by somebody else, or gone, while jobs run and clients ask (B24)."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import httpx
import pytest

from tests import postgres as postgresql
from tests.emulated import until
from tests.orchestrator.client.server import Server
from tests.orchestrator.driver import Driver

STEPS = 6
"""Of a toy, one per second; the database is away for most of them."""
LOCKED_S, STOPPED_S = 5.5, 3.0
"""A locked database answers nothing until a transaction has waited for its turn; a stopped one refuses at once."""


DATABASE_AWAY = "the database does not answer; try again"
"""All that a caller is told: what drivers say names hosts, accounts and files."""

Away = tuple[list[str], Callable[[], AbstractContextManager[None]], float]
"""Options of a server, what takes its database away, and for how many seconds."""


@contextmanager
def held_by_another(path: Path) -> Iterator[None]:
    """SQLite's write lock, in somebody else's hand."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.long), "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Away]:
    if request.param == "sqlite":
        yield [], lambda: held_by_another(tmp_path / "state" / "podwright.db"), LOCKED_S
        return
    programs = postgresql.binaries()
    if programs is None:
        pytest.skip("no PostgreSQL was found")
    with postgresql.running(programs) as server:
        yield ["--database-url", server.create("away")], server.stopped, STOPPED_S


def test_while_the_database_is_away_nothing_is_lost_and_nobody_is_blamed(database: Away, tmp_path: Path) -> None:
    options, taken_away, away_s = database
    server = Server.start(tmp_path / "state", *options)
    driver = Driver(lambda: (server,))
    driver.start()
    try:
        with server.client() as client:
            toys = [client.submit(a_toy(name, STEPS))["id"] for name in ("one", "two")]
            until(lambda: all(client.job(toy)["state"] == "RUNNING" for toy in toys) or None, "both run")
            with taken_away():
                answers = ask_for(server, toys, away_s)
            check_answers(answers)
            again = client.submit(a_toy("meanwhile", 0), idempotency_key="once")
            assert [job["id"] for job in client.jobs(name="meanwhile")["items"]] == [again["id"]]
            for job in (*toys, again["id"]):
                ended = client.wait(job, timeout_s=60)
                assert (ended["state"], ended["attempts"]) == ("SUCCEEDED", 1)
            for toy in toys:
                (loss,) = client.metrics(toy)
                assert loss["steps"] == list(range(1, STEPS + 1))
                events = client.events(toy)
                assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
            assert "Traceback" not in server.log
        driver.stop()
    finally:
        server.stop()


def a_toy(name: str, seconds: int) -> dict[str, object]:
    return {"name": name, "program": {"command": ["sleep", str(seconds)] if seconds else ["true"]}, "slices": "v5e:2x4"}


def ask_for(server: Server, toys: list[str], seconds: float) -> list[httpx.Response]:
    """Submit, ask to release and list, over and over."""
    answers = []
    headers = {"Authorization": f"Bearer {server.token()}"}
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=30, trust_env=False) as http:
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            answers.append(http.get("/jobs"))
            answers.append(http.post("/jobs", json=a_toy("meanwhile", 0), headers={"Idempotency-Key": "once"}))
            answers.append(http.post(f"/jobs/{toys[0]}/release"))
    return answers


def check_answers(answers: list[httpx.Response]) -> None:
    counted = Counter(answer.status_code for answer in answers)
    assert set(counted) <= {200, 201, 503}, counted
    assert counted[503] > 0
    for answer in answers:
        if answer.status_code == 503:
            assert answer.headers["Retry-After"].isdecimal()
            assert answer.json()["type"] == "urn:podwright:problem:unavailable"
            assert answer.json()["detail"] in {DATABASE_AWAY, "the database is busy; try again"}
