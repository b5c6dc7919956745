"""The link: orders arrive, facts are acknowledged, a wrong token is told apart from a bad moment."""

import threading
from collections.abc import Iterator

import pytest

from orchestrator.domain.ids import SliceId
from orchestrator.protocol import Fact, SliceDown
from tests.workers.cluster.control_plane import ControlPlane
from tests.workers.cluster.rig import an_order
from workers.cluster.link import Link

FACTS = (Fact("s/1", 1, SliceDown("slice_down", SliceId("s"), "1", "gone", 0)),)


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    found = ControlPlane("token")
    yield found
    found.close()


def test_orders_arrive_whole_and_again_when_they_change(plane: ControlPlane) -> None:
    wake = threading.Event()
    link = Link(plane.url, "token", wake)
    assert link.orders is None
    link.start()
    for name in ("a", "b"):
        plane.order(an_order(name, "s"))
        while not (link.orders and name in [run.attempt_id for run in link.orders.runs]):
            assert wake.wait(30)
            wake.clear()
    assert link.orders is not None
    assert [run.attempt_id for run in link.orders.runs] == ["a", "b"]


def test_facts_are_acknowledged_or_kept(plane: ControlPlane) -> None:
    link = Link(plane.url, "token", threading.Event())
    plane.away = True
    assert link.send(FACTS) == {}
    plane.away = False
    assert link.send(FACTS) == {"s/1": 1}
    assert not link.denied


def test_a_token_that_is_not_accepted_is_final(plane: ControlPlane) -> None:
    wake = threading.Event()
    link = Link(plane.url, "stolen", wake)
    link.start()
    assert wake.wait(30)
    assert link.denied
