"""The demo's sentences and claims, from given answers."""

import dataclasses
from typing import Any

import pytest

from orchestrator.cli.local.demo_report import Seen, claims, sentences


def _attempt(number: int, slice_id: str, reason: str, progress: dict[str, Any], **times: int | None) -> dict[str, Any]:
    seen = {"last_sign_at_ms": None, "detected_at_ms": None} | times
    return {"number": number, "slices": [slice_id], "reason": reason, "progress": progress} | seen


def _as_it_should_go() -> Seen:
    first = {"step": 64, "resumed_step": 0, "first_step_at_ms": 12_000}
    second = {"step": 100, "resumed_step": 60, "first_step_at_ms": 61_500}
    return Seen(
        submitted_at_ms=1_000,
        killed_at_ms=50_000,
        step_when_killed=62,
        job={
            "state": "SUCCEEDED",
            "message": "every rank exited 0",
            "charges": {"failures": 0, "stalls": 0, "preemptions": 1, "infra": 0},
        },
        attempts=[
            _attempt(1, "pool-0", "host_lost", first, last_sign_at_ms=49_900, detected_at_ms=50_800),
            _attempt(2, "pool-1", "completed", second),
        ],
        checkpoints=[{"attempt": 1, "step": 40}, {"attempt": 1, "step": 60}, {"attempt": 2, "step": 100}],
        ledger={"goodput": 0.623, "allocated_chip_ms": 600_000},
        losses=[5.45, 3.0, 1.92],
    )


def test_the_story_is_told_in_words() -> None:
    assert list(sentences(_as_it_should_go())) == [
        "The first training step was done 11.0 s after the submit.",
        "Host 1 of pool-0 was killed at step 64; that was known 800 ms later (900 ms after its last sign of life).",
        "Attempt 1 ended host_lost: charged to preemptions, not to the job's own failures.",
        "Attempt 2 went on from committed step 60 on pool-1: 4 steps were lost.",
        "From the kill to the first step again it took 11.5 s.",
        "The loss fell from 5.45 to 1.92; the job SUCCEEDED.",
        "Goodput was 62 %: that part of the 10m 00s of chip time was training that counted.",
    ]


def test_all_claims_hold_for_the_story_as_it_should_go() -> None:
    assert [claim.text for claim in claims(_as_it_should_go()) if not claim.holds] == []


def _with_attempt(index: int, **changes: Any) -> Seen:
    seen = _as_it_should_go()
    attempts = list(seen.attempts)
    attempts[index] = dict(attempts[index]) | changes
    return dataclasses.replace(seen, attempts=attempts)


def _with_job(**changes: Any) -> Seen:
    seen = _as_it_should_go()
    return dataclasses.replace(seen, job=dict(seen.job) | changes)


@pytest.mark.parametrize(
    ("seen", "broken"),
    [
        (_with_attempt(0, reason="slice_lost"), "attempt 1 ends host_lost"),
        (
            _with_job(charges={"failures": 1, "stalls": 0, "preemptions": 0, "infra": 0}),
            "it is charged to preemptions, and to nothing else",
        ),
        (_with_attempt(1, slices=["pool-0"]), "attempt 2 runs on the spare slice"),
        (
            _with_attempt(1, progress={"step": 100, "resumed_step": 40, "first_step_at_ms": 1}),
            "attempt 2 goes on from the last step that attempt 1 committed",
        ),
        (_with_job(state="FAILED"), "the job ends SUCCEEDED"),
        (dataclasses.replace(_as_it_should_go(), losses=[5.4, 5.3]), "the loss clearly falls"),
        (dataclasses.replace(_as_it_should_go(), losses=[5.4, float("nan")]), "the loss clearly falls"),
        (dataclasses.replace(_as_it_should_go(), losses=[]), "the loss clearly falls"),
        (dataclasses.replace(_as_it_should_go(), attempts=[]), "the job needs two attempts"),
    ],
)
def test_a_story_that_went_otherwise_breaks_its_claim_and_no_other(seen: Seen, broken: str) -> None:
    assert [claim.text for claim in claims(seen) if not claim.holds] == [broken]
