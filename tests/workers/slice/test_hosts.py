"""What an agent's answer says about its host, and what only silence says."""

import pytest
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayTaskError

from orchestrator.domain.ids import SliceId
from orchestrator.protocol import HostInfo
from workers.slice import hosts
from workers.slice.hosts import SILENCE_S, Host


class Played:
    """Stands for Ray and for the agent: every poll is answered with `error`, while the test moves the clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        self.now = 0.0
        self.error = error
        self.poll = self.remote = self
        monkeypatch.setattr(hosts, "ray", self)
        monkeypatch.setattr(hosts.time, "monotonic", lambda: self.now)

    def __call__(self, *_: object) -> object:
        return self

    def wait(self, references: list[object], timeout: float) -> tuple[list[object], list[object]]:
        return references, []

    def get(self, _: object) -> object:
        raise self.error


def observed(played: Played) -> Host:
    host = Host(played, HostInfo(1, "node", "127.0.0.1", 4), SliceId("s"))
    for _ in range(4):
        host.observe("a", frozenset())
        played.now += SILENCE_S / 2
    return host


def test_an_agent_that_fails_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RayTaskError("poll", "Traceback", RecursionError("too deep"))
    assert observed(Played(monkeypatch, error)).lost is None


def test_an_agent_that_cannot_be_reached_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ActorUnavailableError("gone for now", None)
    assert observed(Played(monkeypatch, error)).lost == f"its agent has not answered for {SILENCE_S:.0f} s"


def test_a_dead_agent_is_lost_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert observed(Played(monkeypatch, ActorDiedError())).lost == "its agent died"
