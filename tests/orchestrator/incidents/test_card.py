"""The card of a first failure: cause and collateral apart, times by one clock, the odd stack named, advice."""

import signal
from dataclasses import replace

from orchestrator.domain.endings import ENDINGS, Outcome, Reason
from orchestrator.domain.incident import Advice, Cause, Overdue, RankExit
from orchestrator.incidents.card import with_card
from orchestrator.incidents.stacks import group, odd_rank
from orchestrator.incidents.verdict import judge
from tests.builders import NOW, an_exit

GLOO = ("E0000 Gloo AllReduce failed: Connection closed by peer [127.0.0.1]",)
LATE = Overdue("train", (0, 1, 2), 9_000, 4_000, 40)
BARRIER = Overdue("join", (1,), 5_300, 5_000)


def standing(rank: int, *frames: str, **fields: object) -> RankExit:
    lines = (f'Thread {rank} (idle): "MainThread"', *(f"    {frame}" for frame in frames))
    return replace(an_exit(rank, signal=signal.SIGKILL, ordered=True), stack=lines, **fields)


WAITS = "_value (jax/_src/array.py:644)"
LOADS = "load (data.py:31)"


def test_cause_and_collateral_are_told_apart_by_one_clock() -> None:
    exits = [
        an_exit(0, signal=6, exited_at_ms=NOW, stderr_tail=GLOO),
        an_exit(1, code=3, exited_at_ms=NOW + 60_050, clock_ahead_ms=60_000, last_step=12, stderr_tail=("ValueError",)),
        an_exit(2, code=4, exited_at_ms=NOW + 100),
        an_exit(3, signal=9, ordered=True),
    ]
    cause = with_card(judge(None, "", exits, None, True), exits, NOW + 300)
    assert (cause.reason, cause.rank, cause.evidence) == (Reason.PROGRAM_ERROR, 1, ("ValueError",))
    card = cause.card
    assert card is not None
    assert (card.exit, card.step, card.began_at_ms, card.detect_ms) == ("exited with code 3", 12, NOW + 50, 250)
    assert [(one.rank, one.says) for one in card.collateral] == [
        (0, "was killed by SIGABRT (abort), as it had lost rank 1"),
        (2, "exited with code 4, after that"),
        (3, "was killed by SIGKILL (killed), by us, as the gang ended"),
    ]
    assert card.notes == ("the clock of pool-0/1 is 60.0 s ahead; times here are corrected for it",)
    assert card.advice is Advice.CHANGE


def test_the_rank_unlike_most_others_is_to_blame_for_a_hang() -> None:
    exits = [standing(0, WAITS), standing(1, LOADS, last_step=40), standing(2, WAITS)]
    cause = with_card(judge("stalled", "", exits, None, True, LATE), exits, NOW, None, LATE)
    assert cause.sentence == (
        "no step was made for 9 s (limit 4 s) after step 40: rank 1 on pool-0/1 stood in load (data.py:31)"
    )
    assert cause.card is not None
    assert [(found.ranks, found.odd) for found in cause.card.stacks] == [((0, 2), False), ((1,), True)]
    assert (cause.card.began_at_ms, cause.card.detect_ms, cause.card.exit) == (NOW - 9_000, 9_000, None)


def test_of_two_the_one_that_does_not_wait_for_the_other_is_odd() -> None:
    assert odd_rank(group([standing(0, LOADS), standing(1, WAITS)])) == 0
    assert odd_rank(group([standing(0, WAITS), standing(1, WAITS)])) is None
    assert odd_rank(group([standing(0, LOADS), standing(1, "save (disk.py:2)")])) is None


def test_a_stopped_rank_is_odd_wherever_it_stands() -> None:
    exits = [standing(0, WAITS), standing(1, WAITS, stopped=True)]
    cause = judge("stalled", "", exits, None, True, LATE)
    assert (cause.rank, cause.sentence.rpartition(": ")[2]) == (1, "rank 1 on pool-0/1 was stopped, as by SIGSTOP")


def test_at_the_barrier_the_missing_rank_is_to_blame_whatever_the_stacks_say() -> None:
    exits = [standing(0, "initialize (jax/_src/distributed.py:2)"), standing(1, "<module> (train.py:3)")]
    cause = judge("init_timeout", "", exits, None, True, BARRIER)
    assert (cause.reason, cause.rank) == (Reason.INIT_TIMEOUT, 1)
    assert cause.sentence == (
        "rank 1 did not join the gang within 5 s (limit 5 s): rank 1 on pool-0/1 stood in <module> (train.py:3)"
    )


def test_when_jax_gives_up_first_the_rank_that_did_not_is_missing() -> None:
    gave_up = ("DEADLINE_EXCEEDED: Deadline Exceeded", "RPC: /xla.coordination.CoordinationService/RegisterTask")
    exits = [an_exit(0, signal=6, stderr_tail=gave_up), an_exit(1, signal=9, ordered=True)]
    cause = judge(None, "rank 0 …", exits, None, True)
    assert (cause.reason, cause.rank) == (Reason.INIT_TIMEOUT, 1)


def test_a_notice_is_a_preemption_unless_every_rank_was_done() -> None:
    left = [an_exit(0, code=143, ordered=True), an_exit(1, code=143, ordered=True)]
    told = "host s/1 will be taken away: GCE says preempted=TRUE"
    assert judge("preempted", told, left, None, True) == Cause(Reason.PREEMPTED, told)
    assert judge("preempted", told, [an_exit(0), an_exit(1)], None, True).reason is Reason.COMPLETED


def test_every_ending_that_is_trouble_has_advice() -> None:
    for reason, ending in ENDINGS.items():
        card = with_card(Cause(reason, ""), (), NOW).card
        never_by_a_gang = {Reason.NO_PROGRESS, Reason.TIMEOUT, Reason.DEPENDENCY_FAILED, Reason.UNSCHEDULABLE}
        if ending.outcome is Outcome.FAILED and reason not in never_by_a_gang:
            assert card is not None, reason
            assert card.advises, reason
