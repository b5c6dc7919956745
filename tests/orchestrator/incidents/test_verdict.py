"""Verdicts from evidence: who is to blame, and who is only an echo."""

import signal

import pytest

from orchestrator.domain.endings import Reason
from orchestrator.domain.incident import Claim
from orchestrator.incidents.verdict import judge
from tests.builders import NOW, an_exit

GLOO = ("E0000 Gloo AllReduce failed: Connection closed by peer [127.0.0.1]",)

CASES = {
    "all ranks exited 0": ((None, "", [an_exit(0), an_exit(1)], None), Reason.COMPLETED, None),
    "one rank exited 1": (
        (None, "", [an_exit(0, ordered=True, code=None, signal=9), an_exit(1, code=1)], None),
        Reason.PROGRAM_ERROR,
        1,
    ),
    "the first of two errors is the cause": (
        (None, "", [an_exit(0, code=1, exited_at_ms=NOW + 5), an_exit(1, code=2, exited_at_ms=NOW)], None),
        Reason.PROGRAM_ERROR,
        1,
    ),
    "an echo that was faster is not blamed": (
        (
            None,
            "",
            [an_exit(0, code=1, exited_at_ms=NOW, stderr_tail=GLOO), an_exit(1, code=3, exited_at_ms=NOW + 50)],
            None,
        ),
        Reason.PROGRAM_ERROR,
        1,
    ),
    "an abort after a sibling's crash is not blamed": (
        (
            None,
            "",
            [
                an_exit(0, signal=signal.SIGABRT, exited_at_ms=NOW, stderr_tail=GLOO),
                an_exit(1, signal=signal.SIGSEGV, exited_at_ms=NOW + 50),
            ],
            None,
        ),
        Reason.PROGRAM_ERROR,
        1,
    ),
    "a lost host outweighs its sibling's error": (
        (None, "", [an_exit(0, code=1, stderr_tail=GLOO), an_exit(1, lost=True)], None),
        Reason.HOST_LOST,
        1,
    ),
    "host 0 lost is the slice lost": (
        (None, "", [an_exit(0, lost=True), an_exit(1, lost=True)], None),
        Reason.SLICE_LOST,
        0,
    ),
    "the supervisor was lost": (("slice_lost", "its supervisor died", [], None), Reason.SLICE_LOST, None),
    "a rank could not be launched": (("launch_failed", "no space left", [], None), Reason.LAUNCH_FAILED, None),
    "cancelled": (
        ("cancelled", "", [an_exit(0, signal=15, ordered=True), an_exit(1, signal=9, ordered=True)], Reason.CANCELLED),
        Reason.CANCELLED,
        None,
    ),
    "cancelled, and a rank ended by the notice itself": (
        ("cancelled", "", [an_exit(0, code=143), an_exit(1, signal=9, ordered=True)], Reason.CANCELLED),
        Reason.CANCELLED,
        None,
    ),
    "finished before the stop reached it": (
        ("timeout", "", [an_exit(0), an_exit(1)], Reason.TIMEOUT),
        Reason.COMPLETED,
        None,
    ),
    "a rank that never ran did not succeed": (
        ("launch_failed", "host pool-0/1 could not launch its rank: no space left", [an_exit(0)], None),
        Reason.LAUNCH_FAILED,
        None,
    ),
    "told to stop before all had begun": (("cancelled", "", [an_exit(0)], Reason.CANCELLED), Reason.CANCELLED, None),
    "the provider's notice, which the program obeyed": (
        (None, "", [an_exit(0, code=143), an_exit(1, signal=9, ordered=True)], None),
        Reason.PREEMPTED,
        0,
    ),
    "a built-in program says why": (
        (None, "", [an_exit(0, code=1, claim=Claim("nan_loss", "the loss is NaN at step 7"))], None),
        Reason.NAN_LOSS,
        0,
    ),
    "a claim that we do not know is an error of the program": (
        (None, "", [an_exit(0, code=1, claim=Claim("martians", "they came"))], None),
        Reason.PROGRAM_ERROR,
        0,
    ),
}


NEVER_LAUNCHED = {"told to stop before all had begun", "a rank that never ran did not succeed"}


@pytest.mark.parametrize("case", CASES)
def test_the_verdict_names_reason_and_rank(case):
    evidence, reason, rank = CASES[case]
    cause = judge(*evidence, launched=case not in NEVER_LAUNCHED)
    assert (cause.reason, cause.rank) == (reason, rank)
    assert cause.sentence


@pytest.mark.parametrize(
    ("exit", "sentence"),
    [
        (an_exit(1, code=1, last_step=1240), "rank 1 on pool-0/1 exited with code 1 at step 1,240"),
        (an_exit(1, signal=11), "rank 1 on pool-0/1 was killed by SIGSEGV (segmentation fault)"),
        (
            an_exit(0, code=1, stderr_tail=("Traceback", "ValueError: no", "")),
            "rank 0 on pool-0/0 exited with code 1: ValueError: no",
        ),
        (an_exit(1, lost=True, last_step=12), "host 1 of pool-0 was lost with rank 1 at step 12"),
    ],
)
def test_the_sentence_says_who_where_how_and_when(exit, sentence):
    assert judge(None, "", [exit], None, launched=True).sentence == sentence
