"""Passing blocked jobs: only if their reservations do not suffer, by the estimates. Windows are kept the same way."""

from dataclasses import replace

import pytest

from orchestrator.domain.sharing import Health
from orchestrator.scheduler.fit import MisfitKind
from orchestrator.scheduler.policy import DEFAULT, EASY, FIFO
from tests.scheduling import HOUR, NOW, a_snapshot, offer, placed, planned, runs, wants

BUSY_TWO_HOURS = runs("r", "s1", ends=NOW + 2 * HOUR)
BIG = wants("big", "2*v5e:2x4", at=1)


def test_a_job_that_ends_before_the_reservation_passes():
    small = wants("small", at=2, runtime_ms=2 * HOUR)
    decided = planned(BIG, small, offer("s0"), offer("s1"), BUSY_TWO_HOURS, policy=EASY)
    assert placed(decided) == {"small": ("s0",)}
    assert (decided.reservations[0].slices, decided.reservations[0].at_ms) == (("s0", "s1"), NOW + 2 * HOUR)


def test_a_job_that_would_still_run_then_waits_and_is_told_so():
    small = wants("small", at=2, runtime_ms=2 * HOUR + 1)
    decided = planned(BIG, small, offer("s0"), offer("s1"), BUSY_TWO_HOURS, policy=EASY)
    assert placed(decided) == {}
    assert decided.waits[1].reasons[0].kind is MisfitKind.RESERVED


def test_a_long_job_passes_on_slices_that_nobody_reserved():
    small = wants("small", at=2, runtime_ms=100 * HOUR)
    decided = planned(
        BIG, small, offer("s0"), offer("s1"), offer("s2"), runs("r", ("s1", "s2"), NOW + HOUR), policy=EASY
    )
    assert placed(decided) == {"small": ("s0",)}
    assert decided.reservations[0].slices == ("s1", "s2")


def test_short_jobs_use_the_reserved_slices_so_that_the_others_stay_open_for_long_ones():
    jobs = BIG, wants("short", at=2, runtime_ms=HOUR), wants("long", at=3, runtime_ms=9 * HOUR)
    slices = [offer(f"s{i}") for i in range(4)]
    decided = planned(
        wants("big", "3*v5e:2x4", at=1), *jobs[1:], *slices, runs("r", ("s2", "s3"), NOW + 2 * HOUR), policy=EASY
    )
    assert placed(decided) == {"short": ("s1",), "long": ("s0",)}


def test_with_strict_order_nobody_passes_in_the_pools_that_the_blocked_job_could_use():
    other = wants("other", "v5p:2x2x1", at=3)
    slices = offer("s0"), offer("s1"), offer("t0", "v5p:2x2x1", pool="q")
    decided = planned(BIG, wants("small", at=2, runtime_ms=1), other, *slices, BUSY_TWO_HOURS, policy=FIFO)
    assert placed(decided) == {"other": ("t0",)}


@pytest.mark.parametrize(("reservations", "kept"), [(1, 1), (2, 2)])
def test_as_many_blocked_jobs_have_reservations_as_the_policy_says(reservations, kept):
    policy = replace(DEFAULT, reservations=reservations)
    blocked = wants("b1", at=1, runtime_ms=HOUR), wants("b2", at=2, runtime_ms=HOUR)
    decided = planned(*blocked, offer("s0"), runs("r", "s0", NOW + HOUR), policy=policy)
    assert [r.at_ms for r in decided.reservations] == [NOW + HOUR, NOW + 2 * HOUR][:kept]


def test_each_pool_has_reservations_of_its_own():
    blocked = wants("b1", at=1), wants("b2", "v5p:2x2x1", at=2)
    gangs = runs("r", "s0", NOW + HOUR), runs("q", "t0", NOW + HOUR, chips=4)
    decided = planned(*blocked, offer("s0"), offer("t0", "v5p:2x2x1", pool="q"), *gangs)
    assert [r.slices for r in decided.reservations] == [("s0",), ("t0",)]


def test_a_blocked_job_reserves_where_it_can_start_soonest():
    job = wants("job", ("v5e:4x4", "v5e:2x4"), at=1)
    gangs = runs("r", "big", NOW + 9 * HOUR, chips=16), runs("q", "small", NOW + HOUR)
    decided = planned(job, offer("big", "v5e:4x4"), offer("small"), *gangs)
    assert decided.reservations[0].slices == ("small",)


def test_a_gang_that_outran_its_estimate_gets_a_quarter_of_its_age_more():
    decided = planned(wants(), offer("s0"), runs("r", "s0", ends=NOW - 1, started=NOW - 4 * HOUR))
    assert decided.reservations[0].at_ms == NOW + HOUR + 1


def test_jobs_without_estimates_never_pass_a_blocked_job():
    unknown = runs("r", "s1", started=NOW)
    decided = planned(BIG, wants("small", at=2), offer("s0"), offer("s1"), unknown)
    assert placed(decided) == {}


def test_a_job_starts_before_a_window_only_if_it_ends_before():
    out = offer("s0", out=[(NOW + HOUR, NOW + 2 * HOUR)])
    assert placed(planned(wants("short", runtime_ms=HOUR), out)) == {"short": ("s0",)}
    decided = planned(wants("long", runtime_ms=HOUR + 1), out)
    assert decided.reservations[0].at_ms == NOW + 2 * HOUR


def test_a_slice_in_its_window_is_not_used_and_counted_as_out():
    decided = planned(wants(), offer("s0", out=[(NOW - 1, NOW + HOUR)]))
    assert decided.waits[0].reasons[0].kind is MisfitKind.OUT
    assert decided.waits[0].says.endswith("1 of that shape are up, 0 free, 1 needed; 1 out for maintenance")
    assert decided.due_at_ms == NOW + HOUR


def test_a_suspect_slice_is_taken_last_and_a_quarantined_one_never():
    slices = offer("bad", health=Health.QUARANTINED), offer("odd", health=Health.SUSPECT), offer("sound")
    assert placed(planned(wants("a"), *slices)) == {"a": ("sound",)}
    assert placed(planned(wants("a", at=1), wants("b", at=2), *slices)) == {"a": ("sound",), "b": ("odd",)}
    assert "1 in quarantine" in planned(wants("a"), slices[0]).waits[0].says


def test_a_fallback_is_used_when_the_preferred_capacity_is_taken():
    job = wants("a", capacity="reserved", fallback=("on_demand",))
    spot, paid = offer("s0"), offer("s1", capacity="on_demand", pool="q")
    assert placed(planned(job, spot, paid)) == {"a": ("s1",)}
    assert placed(planned(job, spot, paid, offer("s2", capacity="reserved", pool="r"))) == {"a": ("s2",)}


def test_of_several_pools_the_fullest_is_used_so_that_large_gangs_find_room():
    slices = [offer(f"a{i}", pool="a") for i in range(3)] + [offer("b0", pool="b")]
    assert placed(planned(wants(), *slices)) == {"a": ("b0",)}


def test_a_snapshot_is_not_changed_by_planning():
    snapshot = a_snapshot(BIG, offer("s0"), offer("s1"), BUSY_TWO_HOURS)
    before = repr(snapshot)
    planned(BIG, offer("s0"), offer("s1"), BUSY_TWO_HOURS)
    assert repr(snapshot) == before
