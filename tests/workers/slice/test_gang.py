"""The leader of a gang, step by step: launch, first failure, stops, and what the report says."""

import pytest

from orchestrator.domain.incident import Claim, Overdue
from orchestrator.domain.patience import Limits
from orchestrator.protocol import GangReady, StopOrder
from tests.workers.slice.stage import ATTEMPT, Play
from workers.host.messages import HostStatus, Pulse
from workers.slice.gang import GangPhase


def test_a_gang_is_ready_when_every_rank_has_a_process() -> None:
    play = Play()
    play.hosts[0].runs()
    play.step()
    assert play.facts == []
    play.hosts[1].runs()
    play.step()
    ready = play.facts[0]
    assert isinstance(ready, GangReady)
    assert [(rank.rank, rank.host, rank.pid) for rank in ready.ranks] == [(0, 0, 1000), (1, 1, 1001)]


def test_ranks_are_told_their_number_and_the_coordinator() -> None:
    orders = [host.order for host in Play().hosts]
    assert [(o.rank, o.rank_count, o.coordinator) for o in orders if o] == [(r, 2, "127.0.0.1:23000") for r in range(2)]


def test_one_host_that_cannot_launch_ends_the_others_as_launch_failed() -> None:
    play = Play()
    play.hosts[0].runs()
    play.hosts[1].outcome = "disk full"
    play.step()
    assert play.hosts[0].signals[:1] == ["KILL"]
    play.hosts[0].exits(signal=9, ordered=True)
    play.hosts[1].status = HostStatus(ATTEMPT, None, True, {})
    play.step()
    assert (play.end.trouble, play.end.message) == ("launch_failed", "host s/1 could not launch its rank: disk full")
    assert [found.rank for found in play.end.exits] == [0]


def test_a_launch_that_takes_for_ever_fails() -> None:
    play = Play()
    play.hosts[0].runs()
    play.step()
    play.step(after_ms=31_000)
    assert play.gang.phase is GangPhase.ENDING


def test_a_rank_that_exited_0_waits_for_the_others() -> None:
    play = Play().running()
    play.hosts[0].exits(0)
    play.step()
    assert play.gang.phase is GangPhase.RUNNING
    play.hosts[1].exits(0)
    play.step()
    assert play.ended
    assert (play.end.trouble, [found.ok for found in play.end.exits]) == (None, [True, True])
    assert play.streams.sizes == {0: {"stdout": 9}, 1: {"stdout": 9}}


def test_the_first_failure_kills_the_others_and_is_reported_when_all_are_gone() -> None:
    play = Play().running()
    play.hosts[1].exits(3)
    play.step()
    assert play.hosts[0].signals[:1] == ["KILL"]
    assert not play.ended
    play.hosts[0].exits(signal=9, ordered=True)
    play.step()
    assert play.ended
    assert play.end.message == "rank 1 on s/1 exited with code 3"
    assert (play.end.detected_at_ms, play.end.drained_at_ms) == (600, 900)


def test_a_peers_error_waits_for_word_of_the_other_host_which_turns_out_lost() -> None:
    play = Play().running()
    play.hosts[0].exits(signal=6)  # gloo: connection closed by peer
    for _ in range(10):
        play.step()
    assert not play.ended
    play.hosts[1].lost = "its node died"
    play.step()
    assert play.ended
    assert [(found.signal, found.lost) for found in play.end.exits] == [(6, False), (None, True)]
    assert play.end.last_sign_at_ms == 500


def test_a_lost_host_ends_the_gang() -> None:
    play = Play().running()
    play.hosts[1].lost = "its node died"
    play.step()
    assert play.hosts[0].signals[:1] == ["KILL"]
    play.hosts[0].exits(signal=9, ordered=True)
    play.step()
    assert (play.end.trouble, play.end.message) == (None, "host s/1 was lost: its node died")


def test_ranks_that_their_agents_ended_by_lease_are_nobodys_failure() -> None:
    play = Play().running()
    for host in play.hosts:
        host.exits(signal=9, ordered=True)
    play.step()
    assert play.end.trouble == "slice_lost"


def test_a_stop_terms_then_kills_after_its_grace() -> None:
    play = Play().running()
    play.gang.stop(StopOrder("cancelled", 2_000))
    play.step()
    play.gang.stop(StopOrder("cancelled", 2_000))  # orders repeat
    play.step(after_ms=1_000)
    assert [host.signals for host in play.hosts] == [["TERM"], ["TERM"]]
    play.step(after_ms=800)
    assert [host.signals for host in play.hosts] == [["TERM", "KILL"], ["TERM", "KILL"]]
    for host in play.hosts:
        host.exits(signal=9, ordered=True)
    play.step()
    assert play.end.trouble == "cancelled"


def test_a_smaller_grace_hurries_a_stop() -> None:
    play = Play().running()
    play.gang.stop(StopOrder("cancelled", 60_000))
    play.step()
    play.gang.stop(StopOrder("cancelled", 0))
    play.step()
    assert all("KILL" in host.signals for host in play.hosts)


def test_a_rank_that_fails_within_the_grace_lets_the_others_use_theirs() -> None:
    play = Play().running()
    play.gang.stop(StopOrder("evicted", 5_000))
    play.hosts[0].exits(1, ordered=True)
    play.step()
    assert play.hosts[1].signals == ["TERM"]


def test_a_stop_after_the_first_failure_does_not_change_the_verdict() -> None:
    play = Play().running()
    play.hosts[1].exits(3)
    play.step()
    play.gang.stop(StopOrder("cancelled", 1_000))
    play.hosts[0].exits(signal=9, ordered=True)
    play.step()
    assert play.end.trouble is None


def test_reports_that_are_refused_end_the_gang_at_once() -> None:
    play = Play().running()
    play.streams.unwanted = True
    play.step()
    assert [host.signals for host in play.hosts] == [["KILL"], ["KILL"]]
    for host in play.hosts:
        host.exits(signal=9, ordered=True)
    play.step()
    assert play.end.trouble == "superseded"


OWN = "OSError: [Errno 98] Address already in use"
IN_USE = f"{OWN}: 127.0.0.1:23000"
GRPC = "E1201 00:31:06 21209 add_port.cc:83] Failed to add port to server: No address for '127.0.0.1:23000'"


@pytest.mark.parametrize("words", [(IN_USE,), (GRPC, "JaxRuntimeError: UNKNOWN: Failed to start RPC server")])
def test_a_coordinator_whose_port_was_taken_is_a_port_clash(words: tuple[str, ...]) -> None:
    play = Play().running()
    play.hosts[0].exits(1, stderr=words)
    play.step()
    play.hosts[1].exits(signal=9, ordered=True)
    play.step()
    assert (play.end.trouble, play.end.message) == ("port_clash", "rank 0 on s/0 found the coordinator's port taken")


def test_the_claim_of_rank_0_tells_of_a_port_clash_too_also_after_an_echo() -> None:
    play = Play().running()
    play.hosts[1].exits(signal=6, at=1)
    play.hosts[0].exits(1, at=2, claim=Claim("program_error", IN_USE))
    play.step()
    play.step()
    assert play.end.trouble == "port_clash"


@pytest.mark.parametrize(
    ("host", "step", "words"),
    [(1, None, IN_USE), (0, 7, IN_USE), (0, None, OWN)],
    ids=["another rank", "after a step", "another port, before the first step"],
)
def test_other_ports_are_the_programs_own(host: int, step: int | None, words: str) -> None:
    play = Play().running()
    play.hosts[host].exits(1, step=step, stderr=(words,))
    play.hosts[1 - host].exits(signal=9, ordered=True)
    play.step()
    play.step()
    assert play.end.trouble is None


LIMITS = Limits(5_000, None, None, 4_000, None, None, by_history=False)


def pulses(play: Play, **of_rank_1: object) -> None:
    """Rank 0 waits at the barrier; rank 1 as told."""
    for host, fields in zip(play.hosts, ({"joined": True}, of_rank_1), strict=True):
        pulse = Pulse(**({"age_ms": 6_000, "joined": False} | fields))  # type: ignore[arg-type]
        host.status = HostStatus(ATTEMPT, None, False, {}, pulse)


def test_a_rank_that_never_joins_is_looked_at_with_all_others_before_it_is_ended() -> None:
    play = Play(limits=LIMITS).running()
    pulses(play)
    play.step()
    assert [host.signals for host in play.hosts] == [["INSPECT"], ["INSPECT"]]
    play.hosts[0].status = HostStatus(ATTEMPT, None, False, {}, inspected=True)
    play.step()
    assert play.hosts[0].signals == ["INSPECT"]
    play.step(after_ms=15_000)  # the other stack never comes
    assert [host.signals[-1] for host in play.hosts] == ["KILL", "KILL"]
    for host in play.hosts:
        host.exits(signal=9, ordered=True)
    play.step()
    assert (play.end.trouble, play.end.overdue) == ("init_timeout", Overdue("join", (1,), 6_000, 5_000))


def test_a_gang_that_makes_no_step_is_stalled_unless_it_is_cancelled_meanwhile() -> None:
    for cancelled in (False, True):
        play = Play(limits=LIMITS).running()
        pulses(play, joined=True, phase="train", step=40, step_ms=4_001, gaps=9)
        if cancelled:
            play.gang.stop(StopOrder("cancelled", 0))
        play.step()
        for host in play.hosts:
            host.exits(signal=9, ordered=True)
        play.step()
        play.step()
        assert play.end.trouble == ("cancelled" if cancelled else "stalled")
        assert play.end.overdue == (None if cancelled else Overdue("train", (1,), 4_001, 4_000, 40))


def test_a_notice_to_one_host_reaches_every_rank() -> None:
    play = Play().running()
    play.hosts[1].status = HostStatus(ATTEMPT, None, False, {}, notice="GCE says preempted=TRUE")
    play.step()
    assert [host.signals for host in play.hosts] == [["TERM"], ["TERM"]]
    for host in play.hosts:
        host.exits(143, ordered=True)
    play.step()
    assert (play.end.trouble, play.end.message) == (
        "preempted",
        "host s/1 will be taken away: GCE says preempted=TRUE",
    )


def test_the_first_failure_is_found_by_one_clock() -> None:
    play = Play().running()
    play.hosts[0].exits(1, at=10_000)
    play.hosts[0].clock_ahead_ms = 9_000
    play.hosts[1].exits(2, at=2_000)
    play.step()
    play.step()
    assert play.end.message == "rank 0 on s/0 exited with code 1"
    assert [found.at_ms for found in play.end.exits] == [1_000, 2_000]
