"""Estimated starts, and ways out: each is true, because planning with it starts the job; and both as one survey."""

import pytest

from orchestrator.domain.sharing import Quota
from orchestrator.domain.spec import Band
from orchestrator.scheduler.forecast import forecast
from orchestrator.scheduler.outlook import Survey
from orchestrator.scheduler.policy import EASY
from orchestrator.scheduler.snapshot import Array
from orchestrator.scheduler.ways_out import ways_out
from tests.scheduling import HOUR, NOW, a_snapshot, offer, runs, wants


def ways(snapshot, job="a") -> list[str]:
    return [way.says for way in ways_out(snapshot, job)]


def test_jobs_start_when_the_gangs_before_them_end():
    jobs = wants("a", at=1, runtime_ms=HOUR), wants("b", at=2, runtime_ms=HOUR)
    snapshot = a_snapshot(*jobs, offer("s0"), runs("r", "s0", NOW + HOUR), policy=EASY)
    starts = {id: estimate.at_ms for id, estimate in forecast(snapshot).items()}
    assert starts == {"a": NOW + HOUR, "b": NOW + 2 * HOUR}


def test_a_forecast_knows_backfill():
    jobs = wants("big", "2*v5e:2x4", at=1, runtime_ms=HOUR), wants("small", at=2, runtime_ms=HOUR)
    gangs = runs("r", "s0", NOW + HOUR), runs("q", "s1", NOW + 2 * HOUR)
    starts = forecast(a_snapshot(*jobs, offer("s0"), offer("s1"), *gangs, policy=EASY))
    assert starts["small"].at_ms == NOW + HOUR
    assert starts["big"].at_ms == NOW + 2 * HOUR


def test_the_range_holds_the_estimate_and_never_the_past():
    snapshot = a_snapshot(wants("a"), offer("s0"), runs("r", "s0", NOW + HOUR))
    estimate = forecast(snapshot)["a"]
    assert NOW <= estimate.earliest_ms <= estimate.at_ms <= estimate.latest_ms


def test_what_starts_now_has_no_range():
    estimate = forecast(a_snapshot(wants("a"), offer("s0")))["a"]
    assert (estimate.earliest_ms, estimate.latest_ms) == (NOW, NOW)


def test_a_job_that_can_never_start_has_no_estimate():
    assert forecast(a_snapshot(wants("a", "v5p:4x4x8"), offer("s0"))) == {}


def test_a_forecast_is_about_the_jobs_that_were_asked_for():
    jobs = wants("a", at=1, runtime_ms=HOUR), wants("b", at=2, runtime_ms=HOUR)
    snapshot = a_snapshot(*jobs, offer("s0"), runs("r", "s0", NOW + HOUR), policy=EASY)
    assert list(forecast(snapshot, of=["b"])) == ["b"]


@pytest.mark.parametrize(
    ("things", "fields", "says"),
    [
        ([wants("a"), offer("s0", "v5e:4x4")], {}, "take v5e:4x4 (16 chips)"),
        ([wants("a", "2*v5e:2x4"), offer("s0")], {}, "take v5e:2x4 (8 chips)"),
        ([wants("a", capacity="reserved"), offer("s0")], {}, "take any kind of capacity"),
        ([wants("a", at=2), wants("b", at=1), offer("s0")], {}, "priority: production"),
        (
            [wants("a", at=2), wants("b", at=1), offer("s0")],
            {},
            "priority: normal/9999, before the project's other jobs",
        ),
        ([wants("a", after=("x", "y")), offer("s0")], {}, "do not wait for 2 jobs to end"),
        (
            [wants("a", array=Array("n", 1)), offer("s0"), offer("s1"), runs("r", "s1", array=Array("n", 1))],
            {},
            "let 2 jobs of the array run at once",
        ),
        (
            [wants("a"), offer("s0")],
            {"quotas": (Quota("default", limit_chips=4),)},
            "raise the limit of default to 8 chips",
        ),
        ([wants("a"), offer("s0"), runs("r", "s0", NOW + HOUR, Band.PRODUCTION)], {}, "cancel r"),
        (
            [
                wants("big", "2*v5e:2x4", at=1),
                wants("a", at=2),
                offer("s0"),
                offer("s1"),
                runs("r", "s1", NOW + HOUR),
            ],
            {},
            "say expected_runtime: 60m, if it ends by then",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_way_out_is_offered_where_it_helps(things, fields, says):
    assert says in ways(a_snapshot(*things, **fields))


def test_no_way_out_is_offered_that_would_not_help():
    both = a_snapshot(wants("a", after=("x",)), offer("s0", free=False), quotas=(Quota("default", limit_chips=4),))
    assert ways(both) == []


def test_a_survey_tells_of_all_that_wait_how_far_it_has_looked():
    jobs = wants("a", at=1, runtime_ms=HOUR), wants("b", at=2, runtime_ms=HOUR), wants("never", "v5p:4x4x8", at=3)
    survey = Survey(a_snapshot(*jobs, offer("s0"), runs("r", "s0", NOW + HOUR), policy=EASY))
    assert [(o.start, o.not_before_ms) for o in survey.outlooks({})] == [(None, NOW)] * 3
    ahead = survey.look_ahead()
    next(ahead), next(ahead)
    first, second, never = survey.outlooks({})
    assert (first.start.at_ms, second.not_before_ms, never.not_before_ms) == (NOW + HOUR, NOW + HOUR, NOW + HOUR)
    list(ahead)
    first, second, never = survey.outlooks({})
    assert (second.start.at_ms, never.start, never.not_before_ms) == (NOW + 2 * HOUR, None, None)
    assert [o.place for o in (first, second, never)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("things", "fields", "kind", "counts"),
    [
        ([wants("a", "2*v5e:2x4"), offer("s0")], {}, "no_such_slices", {"needed": 2, "of_shape": 1, "free": 1}),
        ([wants("a"), offer("s0", free=False)], {}, "busy", {"needed": 1, "of_shape": 1, "free": 0}),
        ([wants("a", after=("x", "y"))], {}, "unfinished", {"jobs": 2}),
        ([wants("a", array=Array("n", 1)), runs("r", "s1", array=Array("n", 1))], {}, "array_full", {"at_once": 1}),
        (
            [wants("a"), offer("s0")],
            {"quotas": (Quota("default", limit_chips=4),)},
            "over_limit",
            {"limit_chips": 4, "used_chips": 0, "wants_chips": 8},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_reasons_carry_their_numbers(things, fields, kind, counts):
    (outlook,) = Survey(a_snapshot(*things, **fields)).outlooks({})
    found = outlook.blockers[0]
    assert found.kind == kind
    assert counts.items() <= dict(found.counts).items()
