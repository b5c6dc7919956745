"""The fence: who may move LATEST, and what is left of it after every kind of intruder."""

from __future__ import annotations

import json
import threading

import pytest

from workers.rank import latest
from workers.rank.failure import NothingRestorable, StorageUnavailable, Superseded


def at(root):
    found = latest.read(root)
    return found and (found.attempt, found.step, found.path)


def test_the_first_claim_makes_an_empty_latest(root):
    assert latest.read(root) is None
    latest.claim(root, 1, "a")
    assert at(root) == (1, None, None)


def test_latest_is_json_with_exactly_its_five_fields(root):
    latest.claim(root, 1, "a")
    latest.advance(root, 1, "a", 100, "1/100")
    fields = json.loads(root.read("LATEST"))
    token = fields.pop("token")
    assert fields == {"attempt": 1, "attempt_id": "a", "step": 100, "path": "1/100"}
    assert len(token) == 32


def test_a_claim_takes_over_the_newest_commit(root):
    latest.claim(root, 1, "a")
    latest.advance(root, 1, "a", 100, "1/100")
    claimed = latest.claim(root, 3, "c")
    assert (claimed.attempt, claimed.step, claimed.path) == (3, 100, "1/100")


@pytest.mark.parametrize(
    ("attempt", "attempt_id", "allowed"),
    [
        pytest.param(2, "b", True, id="the owner again"),
        pytest.param(3, "c", True, id="a later attempt"),
        pytest.param(1, "a", False, id="an earlier attempt"),
        pytest.param(2, "x", False, id="another attempt of the same number"),
    ],
)
def test_claim_by(root, attempt, attempt_id, allowed):
    latest.claim(root, 2, "b")
    if allowed:
        assert latest.claim(root, attempt, attempt_id).attempt == attempt
    else:
        with pytest.raises(Superseded, match=r"attempt 2 \(b\)"):
            latest.claim(root, attempt, attempt_id)
        assert at(root) == (2, None, None)


@pytest.mark.parametrize(
    ("attempt", "attempt_id", "step", "refusal"),
    [
        pytest.param(2, "b", 150, None, id="the owner forward"),
        pytest.param(2, "b", 100, Superseded, id="the same step under another path"),
        pytest.param(2, "b", 50, Superseded, id="the owner backward"),
        pytest.param(1, "a", 150, Superseded, id="a zombie with a newer step"),
        pytest.param(2, "x", 150, Superseded, id="another attempt of the same number"),
        pytest.param(3, "c", 150, StorageUnavailable, id="an attempt whose claim is gone"),
    ],
)
def test_advance_by(root, attempt, attempt_id, step, refusal):
    latest.claim(root, 1, "a")
    latest.advance(root, 1, "a", 100, "1/100")
    latest.claim(root, 2, "b")
    if refusal is None:
        latest.advance(root, attempt, attempt_id, step, f"{attempt}/{step}")
        assert at(root) == (2, step, f"2/{step}")
    else:
        with pytest.raises(refusal):
            latest.advance(root, attempt, attempt_id, step, f"{attempt}/{step}")
        assert at(root) == (2, 100, "1/100")


def test_repeating_an_advance_changes_nothing(root):
    latest.claim(root, 1, "a")
    once = latest.advance(root, 1, "a", 100, "1/100")
    assert latest.advance(root, 1, "a", 100, "1/100") == once


def test_a_rewind_lets_the_owner_commit_below_the_damaged_step(root):
    latest.claim(root, 1, "a")
    latest.advance(root, 1, "a", 100, "1/100")
    latest.claim(root, 2, "b")
    with pytest.raises(Superseded):
        latest.rewind(root, 1, "a", 50, "1/50")
    latest.rewind(root, 2, "b", 50, "1/50")
    latest.advance(root, 2, "b", 75, "2/75")
    assert at(root) == (2, 75, "2/75")


def test_a_latest_that_is_not_ours_is_never_taken_for_a_new_job(root):
    root.write("LATEST", b'{"attempt": 1')
    with pytest.raises(NothingRestorable, match="damaged"):
        latest.claim(root, 2, "b")


def test_two_writers_at_once_lose_no_claim_and_no_commit(root):
    latest.claim(root, 1, "a")
    refused = []

    def zombie():
        for step in range(1, 60):
            try:
                latest.advance(root, 1, "a", step, f"1/{step}")
            except Superseded:
                refused.append(step)

    thread = threading.Thread(target=zombie)
    thread.start()
    claimed = latest.claim(root, 2, "b")
    begin = (claimed.step or 0) + 1000
    for step in range(begin, begin + 10):
        latest.advance(root, 2, "b", step, f"2/{step}")
    thread.join()
    # All that the older attempt committed lies before the claim; after it everything was refused.
    assert [step for step in range(1, 60) if step > (claimed.step or 0)] == refused
    assert at(root) == (2, begin + 9, f"2/{begin + 9}")
