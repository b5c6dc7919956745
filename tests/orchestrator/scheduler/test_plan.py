"""`plan` on small worlds: whole gangs, first come first, nobody starved, and a reason for each that waits."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.capacity import Capacity
from orchestrator.domain.spec import Band
from orchestrator.scheduler.fit import MisfitKind
from tests.scheduling import offer, placed, planned, wants


def test_a_job_starts_on_a_free_slice_of_its_shape():
    decided = planned(wants(), offer("s0", free=False), offer("s1", "v5e:4x4"), offer("s2"))
    assert placed(decided) == {"a": ("s2",)}
    assert decided.starts[0].placement.chips == 8


def test_with_only_half_a_gang_free_nothing_starts():
    decided = planned(wants(slices="2*v5e:2x4"), offer("s0"), offer("s1", free=False))
    assert placed(decided) == {}
    assert decided.waits[0].reasons[0].kind is MisfitKind.BUSY


def test_a_gang_never_spans_two_pools():
    decided = planned(wants(slices="2*v5e:2x4"), offer("s0", pool="p"), offer("s1", pool="q"))
    assert decided.waits[0].reasons[0].kind is MisfitKind.NO_SUCH_SLICES


def test_equal_jobs_start_in_submit_order():
    decided = planned(wants("late", at=2), wants("early", at=1), offer())
    assert list(placed(decided)) == ["early"]


def test_band_goes_before_rank_and_rank_before_age():
    jobs = wants("old", at=1), wants("ranked", at=2, rank=5), wants("urgent", at=3, band=Band.PRODUCTION)
    decided = planned(*jobs, *(offer(f"s{i}") for i in range(3)))
    assert list(placed(decided)) == ["urgent", "ranked", "old"]


def test_the_best_choice_that_fits_wins():
    decided = planned(wants(slices=("v5e:4x4", "v5e:2x4")), offer("small"), offer("big", "v5e:4x4", free=False))
    assert placed(decided) == {"a": ("small",)}


def test_capacity_is_respected():
    decided = planned(wants(capacity=Capacity.RESERVED), offer("s0"), offer("s1", capacity="reserved"))
    assert placed(decided) == {"a": ("s1",)}


def test_a_stream_of_small_jobs_cannot_starve_a_large_one():
    big, small = wants("big", "2*v5e:2x4", at=1), wants("small", at=2)
    decided = planned(big, small, offer("s0"), offer("s1", free=False))
    assert placed(decided) == {}
    assert decided.reservations[0].slices == ("s0", "s1")
    assert decided.waits[1].reasons[0].kind is MisfitKind.RESERVED


def test_a_job_that_could_never_fit_blocks_nobody():
    decided = planned(wants("impossible", "v5p:4x4x8", at=1), wants("modest", at=2), offer())
    assert placed(decided) == {"modest": ("s0",)}
    assert not decided.reservations
    says = decided.waits[0].says
    assert says == "wants v5p:4x4x8 (128 chips on 32 hosts): 0 of that shape are up, 1 needed; slices up: 1 x v5e:2x4"


def test_a_busy_fleet_is_said_with_counts():
    decided = planned(wants(), offer("s0", free=False), offer("s1", free=False))
    assert decided.waits[0].says == "wants v5e:2x4 (8 chips on 2 hosts): 2 of that shape are up, 0 free, 1 needed"


shapes = st.sampled_from(["v5e:2x4", "v5e:4x4", "v5p:2x2x1"])
jobs = st.builds(
    lambda i, n, shape, at, band: wants(f"j{i}", f"{n}*{shape}", at, band),
    st.integers(0, 99),
    st.integers(1, 3),
    shapes,
    st.integers(0, 5),
    st.sampled_from(Band),
)
offers = st.builds(
    lambda i, shape, pool, free: offer(f"s{i}", shape, pool, free),
    st.integers(0, 99),
    shapes,
    st.sampled_from("pq"),
    st.booleans(),
)


@given(
    st.lists(jobs, max_size=8, unique_by=lambda job: job.id), st.lists(offers, max_size=10, unique_by=lambda o: o.id)
)
def test_any_plan_places_whole_gangs_on_free_slices_once(waiting, slices):
    decided = planned(*waiting, *slices)
    used = [id for start in decided.starts for id in start.placement.slices]
    by_id = {offered.id: offered for offered in slices}
    assert len(used) == len(set(used))
    assert all(by_id[id].free for id in used)
    for start in decided.starts:
        job = next(job for job in waiting if job.id == start.job_id)
        got = [by_id[id] for id in start.placement.slices]
        assert len({(s.pool, s.shape) for s in got}) == 1
        assert (len(got), got[0].shape) in {(choice.count, choice.shape) for choice in job.choices}
    answered = {s.job_id for s in decided.starts} | {w.job_id for w in decided.waits}
    assert answered == {job.id for job in waiting}
    assert planned(*reversed(waiting), *slices) == decided
