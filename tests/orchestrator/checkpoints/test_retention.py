"""What retention keeps: table by table, and for any history by hypothesis."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.checkpoints.retention import Kept, Why, best_of, expired, plan
from orchestrator.domain.spec import CheckpointPolicy, KeepBest

NOW = 1_000_000
LOSS = KeepBest("loss")


def a_step(step, attempt=1, loss=None, age=0, **fields):
    values = {} if loss is None else {"loss": loss}
    return Kept(attempt, step, NOW - age, values, **fields)


def kept(steps, **policy):
    gone = {one.place for one in expired(steps, CheckpointPolicy(**policy), NOW)}
    return [one.step for one in steps if one.place not in gone]


TEN = [a_step(step) for step in range(10, 101, 10)]


@pytest.mark.parametrize(
    ("policy", "steps"),
    [
        ({}, [90, 100]),
        ({"keep_last": 1}, [100]),
        ({"keep_last": 50}, list(range(10, 101, 10))),
        ({"keep_last": 1, "keep_every": 30}, [30, 60, 90, 100]),
        ({"keep_last": 1, "keep_every": 7}, [70, 100]),
    ],
    ids=str,
)
def test_last_and_milestones(policy, steps):
    assert kept(TEN, **policy) == steps


def test_a_worsening_metric_keeps_the_early_best_and_nan_is_never_best():
    steps = [a_step(step, loss=math.nan if step == 20 else step / 10) for step in range(10, 101, 10)]
    assert kept(steps, keep_last=2, keep_best=LOSS) == [10, 90, 100]
    assert kept(steps, keep_last=2, keep_best=KeepBest("loss", n=2)) == [10, 30, 90, 100]
    assert kept(steps, keep_last=2, keep_best=KeepBest("loss", mode="max")) == [90, 100]
    assert kept(steps, keep_last=2, keep_best=KeepBest("accuracy")) == [90, 100]


def test_of_equal_values_the_newer_is_best():
    assert best_of([a_step(10, loss=1.0), a_step(20, loss=1.0)], LOSS) == {(1, 20)}


def test_pinned_and_needed_steps_stay():
    steps = [a_step(10, pinned=True), a_step(20, needed=True), a_step(30), a_step(40)]
    assert kept(steps, keep_last=1) == [10, 20, 40]
    assert kept(steps, keep_last=1, max_age="1ms") == [10, 20, 40]


def test_age_ends_milestones_and_bests_but_not_the_last():
    steps = [a_step(step, loss=float(step), age=100_000 - step * 1000) for step in range(10, 101, 10)]
    assert kept(steps, keep_last=2, keep_every=50, keep_best=LOSS, max_age="60s") == [50, 90, 100]
    assert kept(steps, keep_last=2, keep_every=50, keep_best=LOSS, max_age="1ms") == [90, 100]


def test_after_a_fall_back_the_later_attempts_step_is_the_newest():
    steps = [a_step(100), a_step(150), a_step(60, attempt=2)]
    assert plan(steps, CheckpointPolicy(keep_last=1), NOW)[2, 60] is Why.NEWEST
    assert kept(steps, keep_last=1) == [60]


def test_no_steps_no_trouble():
    assert expired([], CheckpointPolicy(), NOW) == ()


STEPS = st.lists(
    st.builds(
        Kept,
        st.integers(1, 4),
        st.integers(1, 60),
        st.integers(0, NOW),
        st.dictionaries(st.just("loss"), st.floats(), max_size=1),
        st.booleans(),
        st.booleans(),
    ),
    unique_by=lambda one: one.place,
    max_size=30,
)
POLICIES = st.builds(
    CheckpointPolicy,
    st.none(),
    st.integers(1, 5),
    st.none() | st.integers(1, 20),
    st.none() | st.builds(KeepBest, st.just("loss"), st.integers(1, 3), st.sampled_from(["min", "max"])),
    st.sampled_from(["unlimited", "1ms", "500s"]),
)


@given(STEPS, POLICIES)
def test_whatever_the_policy_the_newest_the_pinned_and_the_last_stay(steps, policy):
    gone = expired(steps, policy, NOW)
    left = [one for one in steps if one not in gone]
    assert not any(one.pinned or one.needed for one in gone)
    assert len(left) >= min(len(steps), policy.keep_last)
    if steps:
        assert max(steps, key=lambda one: one.place) in left
    # Deleting is done one by one and may end anywhere: what is left then is never judged otherwise.
    for count in range(len(gone)):
        rest = [one for one in steps if one not in gone[: count + 1]]
        assert set(map(id, expired(rest, policy, NOW))) <= set(map(id, gone[count + 1 :]))
