"""How long the report of a gang waits for the last bytes of its streams."""

import pytest

from orchestrator.protocol import StopOrder
from tests.workers.slice.stage import Play
from workers.slice.gang import GangPhase


@pytest.mark.parametrize(("quiet_ms", "waits"), [(1_000, True), (20_000, False)], ids=["server takes", "server away"])
def test_the_report_waits_for_the_last_bytes_as_long_as_somebody_takes_them(quiet_ms: int, waits: bool) -> None:
    play = Play().running()
    play.streams.done, play.streams.quiet = False, quiet_ms
    for host in play.hosts:
        host.exits(0)
    play.step()
    assert play.gang.phase is GangPhase.FLUSHING
    play.step(after_ms=11_000)
    assert play.ended is not waits


def flushing(play: Play) -> Play:
    play.running()
    play.streams.done = False
    for host in play.hosts:
        host.exits(0)
    play.step()
    assert play.gang.phase is GangPhase.FLUSHING
    return play


def test_the_report_does_not_wait_for_ever_for_bytes_that_are_taken_one_by_one() -> None:
    play = flushing(Play())
    for _ in range(119):
        play.step(after_ms=1_000)
        assert not play.ended
    play.step(after_ms=1_000)
    assert play.ended


@pytest.mark.parametrize("reason", ["cancelled", "superseded"])
def test_a_stop_hurries_the_last_bytes_and_changes_no_verdict(reason: str) -> None:
    play = flushing(Play())
    for _ in range(2):
        play.gang.stop(StopOrder(reason, 60_000))  # orders repeat
        assert not play.ended
        play.step(after_ms=1_000)
    assert play.ended
    assert (play.end.trouble, [found.ok for found in play.end.exits]) == (None, [True, True])
