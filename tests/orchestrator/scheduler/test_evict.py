"""Taking slices back: whom, for whom, when not; and elastic gangs, which can give and grow."""

from dataclasses import replace

import pytest

from orchestrator.domain.sharing import Quota
from orchestrator.domain.spec import Band
from orchestrator.scheduler.evict import EvictionCause
from orchestrator.scheduler.policy import DEFAULT
from tests.scheduling import HOUR, MINUTE, NOW, offer, placed, planned, runs, wants

URGENT = wants("urgent", band=Band.PRODUCTION, at=NOW - HOUR)


def evicted(decided) -> list[tuple[str, str]]:
    return [(eviction.job_id, eviction.cause.value) for eviction in decided.evictions]


def test_a_lower_band_yields_and_its_slice_is_kept_for_the_one_it_yields_to():
    decided = planned(URGENT, offer("s0"), runs("low", "s0", NOW + 9 * HOUR, Band.BATCH))
    assert evicted(decided) == [("low", "higher_band")]
    assert decided.reservations[0].slices == ("s0",)
    assert decided.starts == ()


@pytest.mark.parametrize("band", [Band.PRODUCTION, Band.NORMAL])
def test_nobody_yields_within_a_band_or_to_a_lower_one(band):
    job = wants("job", band=Band.NORMAL, at=NOW - HOUR)
    assert evicted(planned(job, offer("s0"), runs("r", "s0", NOW + 9 * HOUR, band))) == []


def test_the_one_that_loses_least_since_its_last_commit_yields():
    fresh = runs("fresh", "s0", NOW + 9 * HOUR, committed_at_ms=NOW - MINUTE)
    stale = runs("stale", "s1", NOW + 9 * HOUR, committed_at_ms=NOW - 30 * MINUTE)
    decided = planned(URGENT, offer("s0"), offer("s1"), stale, fresh)
    assert evicted(decided) == [("fresh", "higher_band")]
    assert decided.evictions[0].lost_chip_ms == 8 * MINUTE


def test_what_the_restart_costs_counts_too():
    slow = runs("slow", "s0", NOW + 9 * HOUR, committed_at_ms=NOW - MINUTE, restart_ms=HOUR)
    quick = runs("quick", "s1", NOW + 9 * HOUR, committed_at_ms=NOW - 5 * MINUTE)
    assert evicted(planned(URGENT, offer("s0"), offer("s1"), slow, quick)) == [("quick", "higher_band")]


def test_no_more_victims_than_are_needed():
    gangs = [runs(f"r{i}", f"s{i}", NOW + 9 * HOUR) for i in range(4)]
    big = wants("big", "2*v5e:2x4", band=Band.PRODUCTION, at=NOW - HOUR)
    decided = planned(big, *(offer(f"s{i}") for i in range(5)), *gangs)
    assert len(decided.evictions) == 1
    assert decided.reservations[0].slices == ("s0", "s4")


def test_a_victim_that_a_larger_one_made_needless_is_spared():
    small, large = runs("small", "s0", NOW + 9 * HOUR), runs("large", ("s1", "s2"), NOW + 9 * HOUR, restart_ms=9)
    big = wants("big", "2*v5e:2x4", band=Band.PRODUCTION, at=NOW - HOUR)
    assert evicted(planned(big, offer("s0"), offer("s1"), offer("s2"), small, large)) == [("large", "higher_band")]


def test_a_gang_runs_a_minimum_time_that_each_eviction_doubles():
    young = runs("young", "s0", NOW + 9 * HOUR, started=NOW - MINUTE)
    assert evicted(planned(URGENT, offer("s0"), young)) == []
    assert planned(URGENT, offer("s0"), young).due_at_ms == NOW + MINUTE
    tried = runs("tried", "s0", NOW + 9 * HOUR, started=NOW - 7 * MINUTE, evicted_before=2)
    assert evicted(planned(URGENT, offer("s0"), tried)) == []
    assert evicted(planned(URGENT, offer("s0"), replace(tried, started_at_ms=NOW - 8 * MINUTE))) != []


def test_nobody_is_evicted_for_a_job_that_starts_soon_by_itself():
    assert evicted(planned(URGENT, offer("s0"), runs("r", "s0", NOW + MINUTE, Band.BATCH))) == []


def test_while_a_victim_is_ending_nobody_else_is_asked_and_its_slice_stays_kept():
    leaving = runs("leaving", "s0", NOW + 10 * MINUTE, Band.BATCH, stopping=True)
    other = runs("other", "s1", NOW + 9 * HOUR)
    small = wants("small", runtime_ms=HOUR, at=NOW - HOUR)
    decided = planned(URGENT, small, offer("s0"), offer("s1"), leaving, other)
    assert evicted(decided) == []
    assert decided.reservations[0].slices == ("s0",)


def test_two_urgent_jobs_do_not_count_on_the_same_victim():
    jobs = URGENT, wants("urgent2", band=Band.PRODUCTION, at=NOW - HOUR)
    gangs = runs("r0", "s0", NOW + 9 * HOUR), runs("r1", "s1", NOW + 9 * HOUR)
    decided = planned(*jobs, offer("s0"), offer("s1"), *gangs)
    assert len(decided.evictions) == 2
    assert {slice_id for r in decided.reservations for slice_id in r.slices} == {"s0", "s1"}


def test_without_evictions_nobody_is_asked():
    assert evicted(planned(URGENT, offer("s0"), runs("r", "s0"), policy=replace(DEFAULT, evict=False))) == []


def test_a_borrowed_guarantee_is_called_back_within_a_band():
    owed = wants("owed", project="mine", at=NOW - HOUR)
    borrower = runs("borrower", "s0", NOW + 9 * HOUR, project="other")
    quotas = (Quota("mine", guarantee_chips=8),)
    decided = planned(owed, offer("s0"), borrower, quotas=quotas)
    assert evicted(decided) == [("borrower", "guarantee")]
    assert evicted(planned(replace(owed, project="third"), offer("s0"), borrower, quotas=quotas)) == []


def test_what_a_project_holds_within_its_own_guarantee_is_not_called_back():
    quotas = (Quota("mine", guarantee_chips=8), Quota("other", guarantee_chips=8))
    owed, holder = wants("owed", project="mine", at=NOW - HOUR), runs("h", "s0", NOW + 9 * HOUR, project="other")
    assert evicted(planned(owed, offer("s0"), holder, quotas=quotas)) == []


def test_a_gang_goes_in_time_before_its_slice_goes_out():
    out = offer("s0", out=[(NOW + MINUTE, NOW + HOUR)])
    assert evicted(planned(out, runs("r", "s0", NOW + 9 * HOUR))) == [("r", "maintenance")]
    later = offer("s0", out=[(NOW + HOUR, NOW + 2 * HOUR)])
    decided = planned(later, runs("r", "s0", NOW + 9 * HOUR))
    assert evicted(decided) == []
    assert decided.due_at_ms == NOW + HOUR - DEFAULT.notice_ms


def test_an_elastic_gang_shrinks_for_an_equal_rather_than_let_it_wait():
    wide = runs("wide", ("s0", "s1", "s2"), NOW + 9 * HOUR, slice_counts=(1, 4))
    decided = planned(wants("job", at=NOW - HOUR), *(offer(f"s{i}") for i in range(3)), wide)
    assert [(e.job_id, e.cause, e.slices_after) for e in decided.evictions] == [("wide", EvictionCause.SHRINK, 2)]


def test_an_elastic_gang_never_shrinks_below_its_least():
    wide = runs("wide", ("s0", "s1"), NOW + 9 * HOUR, slice_counts=(2, 4))
    assert evicted(planned(wants("job", at=NOW - HOUR), offer("s0"), offer("s1"), wide)) == []


def test_an_elastic_gang_grows_into_slices_that_nobody_wants():
    narrow = runs("narrow", "s0", NOW + 9 * HOUR, slice_counts=(1, 3))
    decided = planned(*(offer(f"s{i}") for i in range(5)), narrow)
    assert [(e.cause, e.slices_after) for e in decided.evictions] == [(EvictionCause.GROW, 3)]


@pytest.mark.parametrize(
    ("things", "why"),
    [
        ([wants("job", "2*v5e:2x4", at=NOW), runs("other", "s2", NOW + 9 * HOUR)], "somebody waits for them"),
        ([runs("other", ("s1", "s2"), NOW + 9 * HOUR)], "nothing is free"),
    ],
)
def test_an_elastic_gang_does_not_grow_when(things, why):
    narrow = runs("narrow", "s0", NOW + 9 * HOUR, slice_counts=(1, 3))
    decided = planned(*(offer(f"s{i}") for i in range(3)), narrow, *things)
    assert [e for e in decided.evictions if e.cause is EvictionCause.GROW] == [], why


def test_an_elastic_gang_that_is_nearly_done_does_not_grow():
    narrow = runs("narrow", "s0", NOW + 5 * MINUTE, slice_counts=(1, 3))
    assert evicted(planned(offer("s0"), offer("s1"), narrow)) == []


def test_an_elastic_job_starts_with_what_is_there():
    job = wants("a", ("4*v5e:2x4", "3*v5e:2x4", "2*v5e:2x4"))
    assert placed(planned(job, *(offer(f"s{i}") for i in range(3)))) == {"a": ("s0", "s1", "s2")}
