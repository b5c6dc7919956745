"""How long a job will run, and how use fades."""

import math

import pytest

from orchestrator.domain.endings import Reason
from orchestrator.domain.job import Progress
from orchestrator.domain.sharing import Project
from orchestrator.scheduler.estimate import (
    done_ms,
    ends_at_ms,
    expected_runtime_ms,
    left_ms,
    likeness,
    remember,
    restart_ms,
)
from orchestrator.scheduler.share import accrued, decayed, overuse
from tests.builders import NOW, a_spec, a_stop, an_attempt

HOUR = 3_600_000


def history(*runs, **fields):
    found = {}
    for ran_ms in runs:
        remember(found, likeness(a_spec(**fields)), ran_ms)
    return found


def test_the_owners_estimate_goes_before_the_history():
    assert expected_runtime_ms(a_spec(expected_runtime="2h"), history(HOUR)) == 2 * HOUR


def test_the_mean_of_the_last_two_like_runs_stands_in():
    assert expected_runtime_ms(a_spec(), history(99 * HOUR, HOUR, 3 * HOUR)) == 2 * HOUR


@pytest.mark.parametrize("other", [{"name": "other"}, {"name": "other", "slices": "v5e:4x4"}])
def test_less_alike_jobs_of_the_project_do_if_there_are_no_others(other):
    assert expected_runtime_ms(a_spec(**other), history(HOUR)) == HOUR


def test_other_projects_tell_nothing():
    assert expected_runtime_ms(a_spec(project="other"), history(HOUR)) is None


@pytest.mark.parametrize(("expected", "runtime"), [("unknown", HOUR), ("2h", HOUR), ("30m", HOUR // 2)])
def test_max_runtime_bounds_it(expected, runtime):
    assert expected_runtime_ms(a_spec(expected_runtime=expected, max_runtime="1h"), {}) == runtime


def test_measured_steps_say_more_than_an_estimate():
    attempt = an_attempt(ordered_at_ms=NOW)
    # steps 41..50 in 9 s, so 50 more take 50 s
    report = Progress(
        attempt.id,
        step=50,
        total_steps=100,
        resumed_step=40,
        first_step_at_ms=NOW + 1000,
        last_report_at_ms=NOW + 10_000,
    )
    assert ends_at_ms(attempt, HOUR, report) == NOW + 10_000 + 50_000


@pytest.mark.parametrize("report", [{}, {"step": 2, "total_steps": 9, "first_step_at_ms": 1, "last_report_at_ms": 2}])
def test_without_enough_steps_the_estimate_counts_from_the_order(report):
    attempt = an_attempt(ordered_at_ms=NOW)
    assert ends_at_ms(attempt, HOUR, Progress(attempt.id, **report)) == NOW + HOUR
    assert ends_at_ms(attempt, None, Progress(attempt.id, **report)) is None


def test_a_gang_that_was_told_to_end_is_gone_after_its_grace():
    stop = a_stop(Reason.EVICTED)
    assert ends_at_ms(an_attempt(stop=stop), HOUR, Progress("a")) == stop.at_ms + stop.grace_ms


def test_a_restart_costs_what_the_last_start_did():
    attempt = an_attempt(ordered_at_ms=NOW)
    assert restart_ms(attempt, Progress(attempt.id, first_step_at_ms=NOW + 7), 60_000) == 7
    assert restart_ms(attempt, Progress(attempt.id), 60_000) == 60_000


def test_use_halves_with_each_half_life():
    assert decayed(8.0, 2 * HOUR, HOUR) == 2.0
    assert math.isclose(accrued(3, 1, HOUR), 3.0, rel_tol=1e-3)
    twice = decayed(accrued(3, HOUR, HOUR), HOUR, HOUR) + accrued(3, HOUR, HOUR)
    assert math.isclose(accrued(3, 2 * HOUR, HOUR), twice)


def test_overuse_is_one_at_the_exact_share():
    projects = {"a": Project("a", 300.0, weight=3.0), "b": Project("b", 100.0)}
    assert overuse(projects, ["a", "b"]) == {"a": 1.0, "b": 1.0}


def test_who_neither_waits_nor_used_anything_does_not_count():
    projects = {"a": Project("a", 100.0), "idle": Project("idle", 0.0)}
    assert overuse(projects, ["a", "new"]) == {"a": 2.0, "new": 0.0}
    assert overuse({}, ["a"]) == {"a": 0.0}


@pytest.mark.parametrize(
    ("expected", "done", "left"),
    [(None, HOUR, None), (10 * HOUR, 0, 10 * HOUR), (10 * HOUR, 4 * HOUR, 6 * HOUR), (10 * HOUR, 12 * HOUR, HOUR)],
)
def test_what_is_left_is_what_was_expected_less_what_is_committed(expected, done, left):
    assert left_ms(expected, done) == left


def test_committed_work_counts_from_the_first_step_as_if_on_the_most_slices():
    attempt = an_attempt(ordered_at_ms=NOW, chips=8)
    report = Progress(attempt.id, first_step_at_ms=NOW + 1000, committed_at_ms=NOW + 9000)
    assert done_ms(a_spec(), attempt, report) == 8000
    assert done_ms(a_spec(slices="1-2*v5e:2x4"), attempt, report) == 4000
    assert done_ms(a_spec(), attempt, Progress(attempt.id)) == 0
