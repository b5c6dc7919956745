"""Rules of a job's owner: which endings they mean, and what comes of them."""

import pytest

from orchestrator.domain.faults import SpecError
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.rules import Do, Rule, first_that_applies
from orchestrator.domain.spec import RetryPolicy
from orchestrator.protocol import GangEnded
from orchestrator.reconciler.decide import decide
from tests.builders import NOW, a_job, a_world, an_attempt, an_exit

BUSY = Rule(Do.RETRY, exit_codes=(75,))
ECC = Rule(Do.FAIL, log="ECC*uncorrectable")


@pytest.mark.parametrize(
    ("code", "lines", "found"),
    [
        (75, (), BUSY),
        (1, ("x", "ECC error: 3 uncorrectable"), ECC),
        (1, ("uncorrectable ECC",), None),
        (1, ("ECC", "uncorrectable"), None),
        (None, (), None),
        (75, ("ECC uncorrectable",), BUSY),  # the first wins
    ],
)
def test_the_first_rule_that_applies_wins(code: int | None, lines: tuple[str, ...], found: Rule | None) -> None:
    match = first_that_applies((BUSY, ECC), code, lines)
    assert (match and match[1]) == found


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "exit_codes, log, or both"),
        ({"exit_codes": (0,)}, "1 to 255, got 0"),
        ({"log": "***"}, "1 to 500 characters"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        Rule(Do.FAIL, **fields)  # type: ignore[arg-type]


def settled(rules: tuple[Rule, ...], **exit: object) -> tuple[JobState, str, int]:
    """The job after its attempt ended like this: state, message, charges to failures."""
    job = a_job(state=JobState.RUNNING, rules=rules, retry=RetryPolicy(failures=1))
    exits = (an_exit(0, **exit), an_exit(1, signal=9, ordered=True))  # type: ignore[arg-type]
    attempt = an_attempt(ready_at_ms=NOW - 500)
    ended = GangEnded("gang_ended", attempt.id, None, "", exits, NOW, NOW)
    world = a_world(job, attempts=(attempt,), facts=(ended,))
    change = decide(world, lambda prefix: f"{prefix}_new").jobs[0].job
    return change.state, change.message, change.charges.failures


HBM = ("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes",)


def test_a_rule_ends_at_once_what_would_be_tried_again() -> None:
    assert settled((), code=1)[0] is JobState.QUEUED
    state, message, _ = settled((Rule(Do.FAIL, exit_codes=(1,)),), code=1)
    assert state is JobState.FAILED
    assert message.endswith("; rules[0] says not to try again")


def test_a_rule_tries_again_what_would_be_final_and_charges_it() -> None:
    assert settled((), code=1, stderr_tail=HBM)[0] is JobState.FAILED
    state, _, charged = settled((Rule(Do.RETRY, log="RESOURCE_EXHAUSTED"),), code=1, stderr_tail=HBM)
    assert (state, charged) == (JobState.QUEUED, 1)


def test_a_rule_has_no_say_over_success_or_a_lost_host() -> None:
    everything = (Rule(Do.FAIL, exit_codes=tuple(range(1, 256))), Rule(Do.FAIL, log="x"))
    assert settled(everything, lost=True)[0] is JobState.QUEUED
