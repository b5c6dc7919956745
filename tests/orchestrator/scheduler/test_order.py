"""Who goes first: bands, those who come back, fair share, expected slowdown, and ranks inside a project."""

import pytest

from orchestrator.domain.sharing import Project
from orchestrator.domain.spec import Band
from orchestrator.scheduler.order import in_order
from orchestrator.scheduler.policy import EASY, POLICIES
from tests.scheduling import HOUR, MINUTE, NOW, a_snapshot, wants


def order(*things, **fields) -> list[str]:
    return [job.id for job in in_order(a_snapshot(*things, **fields))]


def test_equal_jobs_go_in_the_order_of_submission():
    assert order(wants("c", at=3), wants("a", at=1), wants("b", at=2)) == ["a", "b", "c"]


def test_a_short_job_goes_before_a_long_one_of_the_same_age():
    jobs = wants("long", at=NOW - HOUR, runtime_ms=10 * HOUR), wants("short", at=NOW - HOUR, runtime_ms=HOUR)
    assert order(*jobs) == ["short", "long"]


def test_a_long_job_that_has_waited_long_enough_goes_before_a_new_short_one():
    old = wants("old", at=NOW - 40 * HOUR, runtime_ms=10 * HOUR)
    new = wants("new", at=NOW - 3 * HOUR, runtime_ms=HOUR)
    assert order(old, new) == ["old", "new"]


def test_very_short_jobs_count_as_ten_seconds():
    blink, short = wants("b", at=NOW - MINUTE, runtime_ms=1), wants("a", at=NOW - MINUTE, runtime_ms=10_000)
    assert order(blink, short) == ["a", "b"]


def test_a_job_without_an_estimate_goes_after_one_that_says_it_is_short():
    silent, honest = wants("silent", at=NOW - HOUR), wants("honest", at=NOW - HOUR, runtime_ms=HOUR)
    assert order(silent, honest) == ["honest", "silent"]


def test_a_project_that_used_more_than_its_share_goes_after_one_that_did_not():
    jobs = wants("a", project="greedy", at=1), wants("b", project="modest", at=2)
    assert order(*jobs, Project("greedy", 900.0), Project("modest", 100.0)) == ["b", "a"]


def test_a_larger_weight_entitles_to_more():
    jobs = wants("a", project="heavy", at=1), wants("b", project="light", at=2)
    assert order(*jobs, Project("heavy", 900.0, weight=9.0), Project("light", 100.0)) == ["a", "b"]


def test_overuse_delays_but_never_starves():
    greedy = wants("greedy", project="greedy", at=NOW - 30 * HOUR, runtime_ms=HOUR)
    new = wants("new", project="modest", at=NOW - HOUR, runtime_ms=HOUR)
    assert order(greedy, new, Project("greedy", 1000.0), Project("modest", 1.0)) == ["greedy", "new"]


def test_with_share_first_a_level_of_overuse_weighs_more_than_any_wait():
    greedy = wants("greedy", project="greedy", at=0, runtime_ms=HOUR)
    new = wants("new", project="modest", at=NOW, runtime_ms=HOUR)
    things = greedy, new, Project("greedy", 1000.0), Project("modest", 1.0)
    assert order(*things, policy=POLICIES["share-first"]) == ["new", "greedy"]


def test_an_evicted_job_comes_back_at_the_head_of_its_band():
    back = wants("back", at=9, returning=True)
    assert order(wants("old", at=1), back, wants("urgent", at=8, band=Band.PRODUCTION)) == ["urgent", "back", "old"]


def test_a_rank_permutes_the_jobs_of_one_project_only():
    mine = wants("m1", project="mine", at=1), wants("m2", project="mine", at=3, rank=9)
    others = wants("o1", project="others", at=2)
    assert order(*mine, others) == ["m2", "o1", "m1"]


@pytest.mark.parametrize("policy", [POLICIES["fifo"], EASY])
def test_classic_policies_go_by_submission_alone(policy):
    jobs = wants("long", at=1, runtime_ms=10 * HOUR), wants("short", at=2, runtime_ms=1)
    assert order(*jobs, Project("default", 1e9), policy=policy) == ["long", "short"]
