"""Code comes to a slice once, and waits for a control plane that is away; nothing runs before it is there."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from ray.exceptions import GetTimeoutError, RayTaskError

from orchestrator.protocol import StopOrder
from tests.orchestrator.api.bundle import a_bundle
from tests.workers.cluster.control_plane import ControlPlane
from tests.workers.slice.stage import ATTEMPT, Play, PlayedCode
from workers.host.messages import HostStatus
from workers.slice.code import Code
from workers.slice.gang import GangPhase

ARCHIVE, DIGEST = a_bundle()


@dataclass
class KeepingHost:
    """A host that keeps what it is given; it fails first as often as the test says."""

    lost: str | None = None
    kept: dict[str, bytes] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)

    def has_code(self, digest: str) -> bool:
        return digest in self.kept

    def take_code(self, digest: str, archive: bytes) -> None:
        if self.failures:
            raise self.failures.pop()
        self.kept[digest] = archive


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    found = ControlPlane("token")
    found.code["a"] = ARCHIVE
    yield found
    found.close()


def bringing(plane: ControlPlane, *hosts: KeepingHost, attempt: str = "a") -> Code:
    code = Code(DIGEST, attempt, f"token-of-{attempt}", hosts, lambda: plane.url)
    code.start()
    return code


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_one_fetch_serves_all_hosts_and_none_is_needed_where_it_is(plane: ControlPlane) -> None:
    hosts = [KeepingHost(), KeepingHost(), KeepingHost(lost="its node died")]
    until(bringing(plane, *hosts).ready)
    assert [host.kept for host in hosts] == [{DIGEST: ARCHIVE}, {DIGEST: ARCHIVE}, {}]
    until(bringing(plane, *hosts).ready)
    assert plane.code_asked == 1


def test_a_control_plane_that_is_away_is_waited_for(plane: ControlPlane) -> None:
    plane.away = True
    host = KeepingHost()
    code = bringing(plane, host)
    until(lambda: plane.code_asked > 1)
    assert (code.ready(), code.trouble) == (False, None)
    plane.away = False
    until(code.ready)


def test_its_no_is_told(plane: ControlPlane) -> None:
    code = bringing(plane, KeepingHost(), attempt="b")
    until(lambda: code.trouble)
    assert not code.ready()
    assert "404" in (code.trouble or "")


def test_a_host_that_does_not_answer_is_asked_again_and_one_that_cannot_is_told(plane: ControlPlane) -> None:
    slow = KeepingHost(failures=[GetTimeoutError("late")])
    until(bringing(plane, slow).ready)
    full = KeepingHost(failures=[RayTaskError("take_code", "traceback", OSError("no space left"))])
    code = bringing(plane, full)
    until(lambda: code.trouble)
    assert code.trouble == "its code could not be brought: no space left"


def test_what_is_not_wanted_any_more_is_given_up(plane: ControlPlane) -> None:
    plane.away = True
    code = bringing(plane, KeepingHost())
    code.give_up()
    asked = plane.code_asked
    until(lambda: plane.code_asked <= asked + 1)
    assert not code.ready()


def test_a_gang_launches_once_its_code_is_there() -> None:
    code = PlayedCode()
    play = Play(code)
    play.step(60_000)
    assert (play.gang.phase, play.hosts[0].order) == (GangPhase.FETCHING, None)
    code.there = True
    play.step()
    assert play.hosts[0].order is not None
    assert play.hosts[0].order.coordinator == "127.0.0.1:23000"
    play.running()


def test_code_that_cannot_come_ends_the_attempt_before_it_began() -> None:
    play = Play(PlayedCode(trouble="HTTP 404"))
    for host in play.hosts:
        host.status = nothing_runs()
    play.step()
    play.step()
    assert (play.end.trouble, play.end.message) == ("launch_failed", "HTTP 404")


def test_a_stop_or_a_lost_host_ends_the_waiting() -> None:
    code = PlayedCode()
    play = Play(code)
    for host in play.hosts:
        host.status = nothing_runs()
    play.gang.stop(StopOrder("cancelled", 0))
    play.step()
    play.step()
    assert (play.end.trouble, code.unwanted) == ("cancelled", True)
    lost = Play(PlayedCode())
    lost.hosts[0].lost, lost.hosts[1].status = "its node died", nothing_runs()
    lost.step()
    lost.step()
    assert [one.lost for one in lost.end.exits] == [True]


def nothing_runs() -> HostStatus:
    return HostStatus(ATTEMPT, None, True, {})
