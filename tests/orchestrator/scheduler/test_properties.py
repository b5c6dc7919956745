"""What any plan keeps, over random fleets, queues, gangs and quotas."""

import os
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.capacity import Capacity
from orchestrator.domain.sharing import Health, Project, Quota, Window
from orchestrator.domain.spec import Band
from orchestrator.scheduler.plan import plan
from orchestrator.scheduler.policy import POLICIES
from orchestrator.scheduler.snapshot import Array, Snapshot
from orchestrator.scheduler.ways_out import ways_out
from tests.scheduling import HOUR, MINUTE, NOW, a_snapshot, offer, runs, wants

many = settings(max_examples=int(os.environ.get("PODWRIGHT_EXAMPLES", "60")))
"""`make simulate` asks for many more."""
SHAPES = ("v5e:2x4", "v5e:4x4", "v5p:2x2x1")
PROJECTS = ("red", "green", "blue")


@st.composite
def worlds(draw) -> Snapshot:
    """Up to 12 slices in two pools, some held, and up to 8 jobs of three projects in one team."""
    slices, gangs = [], []
    for i in range(draw(st.integers(0, 12))):
        opens = NOW + draw(st.integers(-60, 240)) * MINUTE
        slices.append(
            offer(
                f"s{i:02}",
                draw(st.sampled_from(SHAPES)),
                draw(st.sampled_from("pq")),
                capacity=draw(st.sampled_from(["spot", "reserved"])),
                health=draw(st.sampled_from([Health.SOUND] * 4 + [Health.SUSPECT, Health.QUARANTINED])),
                out=draw(st.sampled_from([(), (), (), ((opens, opens + HOUR),)])),
            )
        )
        if draw(st.booleans()):
            counts = draw(st.sampled_from([None, None, (1, 2)]))
            gangs.append(
                runs(
                    f"r{i}",
                    f"s{i:02}",
                    draw(st.sampled_from([None, NOW - MINUTE, NOW + MINUTE, NOW + 2 * HOUR])),
                    draw(st.sampled_from(Band)),
                    started=NOW - draw(st.integers(0, 60)) * MINUTE,
                    chips=slices[-1].shape.chips,
                    project=draw(st.sampled_from(PROJECTS)),
                    stopping=draw(st.booleans()),
                    slice_counts=counts,
                )
            )
    jobs = [
        wants(
            f"j{i}",
            tuple(f"{draw(st.integers(1, 3))}*{shape}" for shape in draw(st.sets(st.sampled_from(SHAPES), min_size=1))),
            at=NOW - draw(st.integers(0, 90)) * MINUTE,
            band=draw(st.sampled_from(Band)),
            rank=draw(st.sampled_from([0, 0, 5])),
            capacity=draw(st.sampled_from([Capacity.ANY, Capacity.ANY, Capacity.SPOT])),
            project=draw(st.sampled_from(PROJECTS)),
            runtime_ms=draw(st.sampled_from([None, MINUTE, HOUR, 5 * HOUR])),
            after=draw(st.sampled_from([(), (), ("x",)])),
            array=draw(st.sampled_from([None, None, Array("n", 1)])),
        )
        for i in range(draw(st.integers(0, 8)))
    ]
    quotas = draw(
        st.lists(
            st.builds(
                Quota,
                st.sampled_from([*PROJECTS, "team"]),
                st.sampled_from([0, 16]),
                st.sampled_from([None, 16, 40]),
                st.sampled_from([None, "p"]),
            ),
            max_size=3,
        )
    )
    members = [Project(name, draw(st.sampled_from([0.0, 1.0, 9.0])), parents=("team",)) for name in PROJECTS]
    policy = POLICIES[draw(st.sampled_from(sorted(POLICIES)))]
    return a_snapshot(*slices, *gangs, *jobs, *members, quotas=tuple(quotas), policy=policy)


def used_chips(snapshot: Snapshot, quota: Quota) -> int:
    """What the quota's owner holds where it counts, running gangs and planned starts together."""
    pool_of = {s.id: s.pool for s in snapshot.slices}
    chips = {s.id: s.shape.chips for s in snapshot.slices}
    project_of = {job.id: job.project for job in snapshot.waiting}
    held = [(gang.project, gang.slices) for gang in snapshot.running]
    held += [(project_of[start.job_id], start.placement.slices) for start in plan(snapshot).starts]
    return sum(
        chips[slice_id]
        for project, slices in held
        for slice_id in slices
        if quota.owner in (project, *snapshot.projects[project].parents) and quota.pool in (None, pool_of[slice_id])
    )


@many
@given(worlds())
def test_no_slice_is_used_twice_and_gangs_are_whole(snapshot):
    by_id = {s.id: s for s in snapshot.slices}
    jobs = {job.id: job for job in snapshot.waiting}
    started = plan(snapshot).starts
    uses = Counter(id for start in started for id in start.placement.slices)
    assert all(times == 1 and by_id[id].free for id, times in uses.items())
    for start in started:
        got = [by_id[id] for id in start.placement.slices]
        assert len({(s.cluster_id, s.pool, s.shape, s.capacity) for s in got}) == 1
        assert (len(got), got[0].shape) in {(c.count, c.shape) for c in jobs[start.job_id].choices}
        assert start.placement.chips == sum(s.shape.chips for s in got)


@many
@given(worlds())
def test_every_job_starts_or_has_its_reasons(snapshot):
    decided = plan(snapshot)
    answered = [s.job_id for s in decided.starts] + [w.job_id for w in decided.waits]
    assert sorted(answered) == sorted(job.id for job in snapshot.waiting)
    assert all(wait.reasons and wait.says for wait in decided.waits)


@many
@given(worlds())
def test_quotas_are_kept(snapshot):
    for quota in snapshot.quotas:
        held = used_chips(Snapshot((), snapshot.slices, snapshot.running, NOW, snapshot.projects), quota)
        limit = quota.limit_chips
        assert limit is None or used_chips(snapshot, quota) <= max(limit, held)


@many
@given(worlds())
def test_nobody_runs_into_a_window_or_on_a_slice_that_is_not_trusted(snapshot):
    jobs = {job.id: job for job in snapshot.waiting}
    by_id = {s.id: s for s in snapshot.slices}
    for start in plan(snapshot).starts:
        runtime = jobs[start.job_id].runtime_ms or snapshot.policy.unknown_runtime_ms
        mine = Window(NOW, NOW + runtime)
        for id in start.placement.slices:
            assert by_id[id].health is not Health.QUARANTINED
            assert not any(w.since_ms < mine.until_ms and mine.since_ms < w.until_ms for w in by_id[id].windows)


@many
@given(worlds())
def test_no_job_that_fits_waits_unless_slices_are_kept_for_another(snapshot):
    """Work conserving: take away the reservations' reason, the other waiting jobs, and whoever still does not start
    does not fit."""
    decided = plan(snapshot)
    kept = {id for r in decided.reservations for id in r.slices}
    used = {id for start in decided.starts for id in start.placement.slices}
    left = tuple(s for s in snapshot.slices if s.free and s.id not in kept | used)
    strict = snapshot.policy is POLICIES["fifo"]
    for wait in decided.waits:
        job = next(job for job in snapshot.waiting if job.id == wait.job_id)
        if strict or snapshot.quotas or job.array:
            continue
        alone = Snapshot((job,), left, (), NOW, policy=snapshot.policy)
        assert plan(alone).starts == ()


@many
@given(worlds(), st.randoms(use_true_random=False))
def test_the_plan_does_not_depend_on_the_order_of_its_input(snapshot, random):
    jobs, gangs = list(snapshot.waiting), list(snapshot.running)
    random.shuffle(jobs)
    random.shuffle(gangs)
    shuffled = a_snapshot(
        *snapshot.slices, *gangs, *jobs, *snapshot.projects.values(), quotas=snapshot.quotas, policy=snapshot.policy
    )
    first, again, other = plan(snapshot), plan(snapshot), plan(shuffled)
    assert first == again
    assert (other.starts, other.waits, set(other.evictions)) == (first.starts, first.waits, set(first.evictions))


@many
@given(worlds())
def test_only_a_lower_band_a_borrower_or_an_elastic_gang_yields_to_a_job(snapshot):
    bands = {job.id: job.band for job in snapshot.waiting}
    gangs = {gang.job_id: gang for gang in snapshot.running}
    decided = plan(snapshot)
    assert len({eviction.job_id for eviction in decided.evictions}) == len(decided.evictions)
    for eviction in decided.evictions:
        gang = gangs[eviction.job_id]
        assert not gang.stopping
        if eviction.in_favour_of is not None:
            assert gang.band >= bands[eviction.in_favour_of]
            assert NOW - gang.started_at_ms >= snapshot.policy.min_runtime_ms
        if eviction.cause.value == "higher_band":
            assert gang.band > bands[eviction.in_favour_of]


@many
@given(worlds())
def test_every_way_out_starts_the_job(snapshot):
    for wait in plan(snapshot).waits:
        for way in ways_out(snapshot, wait.job_id):
            started = {start.job_id for start in plan(way.apply(snapshot)).starts}
            assert wait.job_id in started, way.says
