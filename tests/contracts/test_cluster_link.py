"""What the control plane may rely on from any cluster, whether it is the simulation's fake or one on Ray."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from orchestrator.protocol import FactBody, GangEnded, GangReady, SliceDown, SliceUp, StopOrder
from tests.contracts.links import FakeLink, Link, RayLink
from tests.workers.cluster.rig import an_order

pytestmark = pytest.mark.timeout(300)
SLEEP = ("sleep", "600")


@pytest.fixture(params=["fake", pytest.param("ray", marks=pytest.mark.ray)])
def link(request: pytest.FixtureRequest) -> Iterator[Link]:
    if request.param == "fake":
        yield FakeLink()
    else:
        yield RayLink(request.getfixturevalue("rig"))


def ended(link: Link, attempt_id: str) -> GangEnded:
    def look(body: FactBody) -> GangEnded | None:
        return body if isinstance(body, GangEnded) and body.attempt_id == attempt_id else None

    found = link.wait_for(look, f"{attempt_id} ended")
    link.withdraw(attempt_id)
    return found


def ready(link: Link, attempt_id: str) -> GangReady:
    def look(body: FactBody) -> GangReady | None:
        return body if isinstance(body, GangReady) and body.attempt_id == attempt_id else None

    return link.wait_for(look, f"{attempt_id} is ready")


def test_a_slice_is_announced_with_its_hosts_and_an_incarnation(link: Link) -> None:
    def look(body: FactBody) -> SliceUp | None:
        return body if isinstance(body, SliceUp) and body.slice_id == link.slices[0] else None

    up = link.wait_for(look, "the slice is up")
    assert (up.shape, up.capacity, len(up.hosts), up.hosts[1].chips) == ("v5e:2x4", "spot", 2, 4)
    assert up.incarnation


def test_a_gang_is_ready_whole_and_ends_once_when_every_rank_exited_0(link: Link) -> None:
    link.order(an_order("done", link.slices[0], "true"))
    assert [rank.rank for rank in ready(link, "done").ranks] == [0, 1]
    end = ended(link, "done")
    assert (end.trouble, [rank.exit_code for rank in end.exits]) == (None, [0, 0])
    assert end.detected_at_ms <= end.drained_at_ms


def test_a_failing_rank_is_reported_with_its_code_and_the_others_as_ended_by_us(link: Link) -> None:
    link.order(an_order("failed", link.slices[0], "false"))
    exits = ended(link, "failed").exits
    failed = [rank for rank in exits if not rank.ordered]
    assert failed
    assert {rank.exit_code for rank in failed} == {1}
    assert all(rank.signal is not None for rank in exits if rank.ordered)


def test_a_stop_order_ends_the_gang_with_its_reason(link: Link) -> None:
    order = an_order("stopped", link.slices[0], *SLEEP)
    link.order(order)
    ready(link, "stopped")
    link.order(replace(order, stop=StopOrder("timeout", 1_000)))
    end = ended(link, "stopped")
    assert end.trouble == "timeout"
    assert all(rank.ordered for rank in end.exits)


def test_a_stop_order_for_an_attempt_that_never_began_is_answered(link: Link) -> None:
    link.order(an_order("early", link.slices[0], *SLEEP, stop=StopOrder("cancelled", 0)))
    end = ended(link, "early")
    assert end.trouble == "cancelled"
    assert not [fact for fact in link.facts() if isinstance(fact.body, GangReady) and fact.body.attempt_id == "early"]


def test_what_is_absent_from_the_orders_is_ended(link: Link) -> None:
    link.order(an_order("unwanted", link.slices[0], *SLEEP))
    ready(link, "unwanted")
    link.withdraw("unwanted")
    assert all(rank.ordered for rank in ended(link, "unwanted").exits)


def test_the_same_order_again_is_one_start_and_one_end(link: Link) -> None:
    order = an_order("once", link.slices[0], "true")
    link.order(order)
    link.order(order)
    found = [ready(link, "once")]
    link.order(order)

    def look(body: FactBody) -> GangEnded | None:
        return body if isinstance(body, GangEnded) and body.attempt_id == "once" else None

    link.wait_for(look, "it ended")
    link.order(order)
    link.order(an_order("after", link.slices[0], "true"))
    ended(link, "after")
    link.withdraw("once")
    of_once = [fact.body for fact in link.facts() if getattr(fact.body, "attempt_id", "") == "once"]
    assert [type(body) for body in of_once] == [GangReady, GangEnded]
    assert of_once[0] == found[0]


def test_a_lost_host_ends_its_gang_and_then_its_slice_is_down(link: Link) -> None:
    slice_id = link.slices[1]
    link.order(an_order("bereft", slice_id, *SLEEP))
    ready(link, "bereft")
    link.lose_host_1(slice_id)
    end = ended(link, "bereft")
    assert [(rank.rank, rank.lost, rank.ordered) for rank in end.exits] == [(0, False, True), (1, True, False)]

    def look(body: FactBody) -> SliceDown | None:
        return body if isinstance(body, SliceDown) and body.slice_id == slice_id else None

    incarnations = {fact.body.incarnation for fact in link.facts() if isinstance(fact.body, SliceUp)}
    assert link.wait_for(look, "the slice is down").incarnation in incarnations
