"""`decide` on small worlds: one tick each, told as a sentence."""

import itertools

import pytest

from orchestrator.changes import Changes, JobChange
from orchestrator.domain.capacity import Capacity
from orchestrator.domain.endings import Reason
from orchestrator.domain.errors import IllegalTransition
from orchestrator.domain.job import Charges, Desired, Progress, RankStarted, SliceState
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.spec import RetryPolicy
from orchestrator.protocol import GangEnded, GangReady, HostInfo, SliceDown, SliceUp
from orchestrator.reconciler.decide import decide
from orchestrator.reconciler.settle import settle
from orchestrator.world import World
from tests.builders import NOW, a_job, a_slice, a_stop, a_world, an_attempt, an_exit

RUNNING, QUEUED, STOPPING = JobState.RUNNING, JobState.QUEUED, JobState.STOPPING


def decided(world: World) -> Changes:
    ids = itertools.count(1)
    return decide(world, lambda prefix: f"{prefix}_{next(ids)}")


def only(changes: Changes) -> JobChange:
    assert len(changes.jobs) == 1
    return changes.jobs[0]


def ended(*exits, trouble=None, attempt="att_job_1_1") -> GangEnded:
    return GangEnded("gang_ended", attempt, trouble, "", tuple(exits), NOW - 50, NOW - 10)


def test_a_waiting_job_starts_whole_on_a_free_slice():
    change = only(decided(a_world(a_job(), slices=(a_slice(),))))
    assert change.job.state is JobState.STARTING
    assert change.started.number == 1
    assert change.started.slices == ("pool-0",)
    assert (change.seen_version, change.job.version) == (1, 2)
    assert change.events[0].message == "attempt 1 starts on pool-0"


def test_deciding_twice_on_the_same_world_gives_the_same():
    world = a_world(a_job(), slices=(a_slice(),))
    assert decided(world) == decided(world)


def test_a_quiet_world_changes_nothing():
    assert decided(a_world(a_job(state=RUNNING), attempts=(an_attempt(),), slices=(a_slice(),))).empty


def test_why_a_job_waits_is_said_once():
    first = decided(a_world(a_job(), slices=(a_slice(shape="v5e:4x4"),)))
    assert first.jobs == ()
    ((_, says),) = first.waits
    assert "0 of that shape are up" in says
    assert decided(a_world(a_job(message=says), slices=(a_slice(shape="v5e:4x4"),))).empty


def test_nothing_is_placed_on_a_cluster_that_does_not_answer():
    assert decided(a_world(a_job(), slices=(a_slice(),), silent_ms=60_001)).jobs == ()


def test_a_job_that_waits_for_a_silent_cluster_is_told_so():
    ((_, says),) = decided(a_world(a_job(), slices=(a_slice(),), silent_ms=60_001)).waits
    assert "nothing is placed on local until its cluster process answers again" in says


def test_nothing_ends_because_a_cluster_does_not_answer():
    world = a_world(a_job(state=RUNNING), attempts=(an_attempt(),), slices=(a_slice(),), silent_ms=10**9)
    assert decided(world).empty


def test_a_ready_gang_runs():
    ranks = (RankStarted(0, "pool-0", 0, 11, NOW), RankStarted(1, "pool-0", 1, 12, NOW))
    facts = (GangReady("gang_ready", "att_job_1_1", ranks, NOW - 20),)
    change = only(decided(a_world(a_job(state=JobState.STARTING), attempts=(an_attempt(),), facts=facts)))
    assert change.job.state is RUNNING
    assert change.attempt.ready_at_ms == NOW - 20
    assert change.ranks == ranks
    assert change.folded == (1,)


def test_a_completed_gang_succeeds():
    world = a_world(a_job(state=RUNNING), attempts=(an_attempt(),), facts=(ended(an_exit(0), an_exit(1)),))
    change = only(decided(world))
    assert change.job.state is JobState.SUCCEEDED
    assert change.job.ended_at_ms == NOW
    assert change.attempt.reason is Reason.COMPLETED
    assert not change.attempt.live


def test_a_lost_host_is_charged_to_preemptions_and_the_job_moves_to_the_spare_slice_at_once():
    world = a_world(
        a_job(state=RUNNING, retry=RetryPolicy(failures=0)),
        attempts=(an_attempt(),),
        slices=(a_slice("pool-0"), a_slice("pool-1")),
        facts=(ended(an_exit(0, signal=9, ordered=True), an_exit(1, lost=True)),),
    )
    changes = decided(world)
    change = only(changes)
    assert change.attempt.reason is Reason.HOST_LOST
    assert change.job.charges == Charges(preemptions=1)
    assert change.job.state is JobState.STARTING
    assert change.started.number == 2
    assert change.started.slices == ("pool-1",)
    assert [dict(event.data)["to"] for event in change.events] == ["QUEUED", "STARTING"]
    assert [(s.slice.id, s.slice.state) for s in changes.slices] == [("pool-0", SliceState.DOWN)]


def test_with_no_spare_slice_it_waits_and_is_never_put_back_on_the_lost_one():
    facts = (ended(an_exit(0, signal=9, ordered=True), an_exit(1, lost=True)),)
    change = only(decided(a_world(a_job(state=RUNNING), attempts=(an_attempt(),), slices=(a_slice(),), facts=facts)))
    assert change.job.state is QUEUED
    assert change.started is None
    assert change.job.not_before_ms <= NOW


def test_an_error_is_retried_after_a_while_until_its_budget_is_used():
    facts = (ended(an_exit(0, code=1), an_exit(1, signal=9, ordered=True)),)
    world = a_world(a_job(state=RUNNING), attempts=(an_attempt(),), slices=(a_slice(),), facts=facts)
    first = only(decided(world))
    assert (first.job.state, first.job.charges) == (QUEUED, Charges(failures=1))
    assert first.job.not_before_ms == NOW + 1_000
    assert decided(world).due_at_ms == NOW + 1_000
    spent = a_job(state=RUNNING, charges=Charges(failures=2))
    last = only(decided(a_world(spent, attempts=(an_attempt(),), facts=facts)))
    assert last.job.state is JobState.FAILED
    assert last.job.reason is Reason.PROGRAM_ERROR
    assert last.job.message == "rank 0 on pool-0/0 exited with code 1; all 2 restarts for failures are used"


@pytest.mark.parametrize(
    ("committed", "without_progress", "state"),
    [(None, 5, JobState.FAILED), (40, 5, JobState.FAILED), (41, 5, QUEUED), (None, 4, QUEUED)],
)
def test_restarts_that_commit_nothing_new_end_the_job(committed, without_progress, state):
    job = a_job(state=RUNNING, committed_step=40, without_progress=without_progress)
    progress = Progress("att_job_1_1", step=44, committed_step=committed)
    facts = (ended(an_exit(0, signal=9, ordered=True), an_exit(1, lost=True)),)
    change = only(decided(a_world(job, attempts=(an_attempt(),), facts=facts, progress=(progress,))))
    assert change.job.state is state
    assert (change.job.reason is Reason.NO_PROGRESS) == (state is JobState.FAILED)


def test_a_program_that_never_reports_is_not_judged_by_its_progress():
    job = a_job(state=RUNNING, without_progress=5)
    facts = (ended(an_exit(0, signal=9, ordered=True), an_exit(1, lost=True)),)
    assert only(decided(a_world(job, attempts=(an_attempt(),), facts=facts))).job.state is QUEUED


def test_cancelling_a_waiting_job_ends_it():
    change = only(decided(a_world(a_job(desired=Desired.CANCELLED), slices=(a_slice(),))))
    assert change.job.state is JobState.CANCELLED
    assert change.started is None


@pytest.mark.parametrize("state", [JobState.STARTING, RUNNING])
def test_cancelling_a_live_job_orders_a_stop_once(state):
    world = a_world(a_job(state=state, desired=Desired.CANCELLED, grace="2s"), attempts=(an_attempt(),))
    change = only(decided(world))
    assert change.job.state is STOPPING
    assert (change.attempt.stop.reason, change.attempt.stop.grace_ms) == (Reason.CANCELLED, 2_000)
    again = a_world(change.job, attempts=(change.attempt,))
    assert decided(again).empty


@pytest.mark.parametrize(
    "exits",
    [
        (an_exit(0, signal=15, ordered=True), an_exit(1, signal=9, ordered=True)),
        (an_exit(0), an_exit(1)),
        (an_exit(0, signal=9, ordered=True), an_exit(1, lost=True)),
        (an_exit(0, code=1), an_exit(1, signal=9, ordered=True)),
    ],
    ids=["stopped", "finished by itself", "host lost", "failed"],
)
@pytest.mark.parametrize("state", [RUNNING, STOPPING])
def test_a_cancelled_job_ends_cancelled_however_its_gang_ended(state, exits):
    stop = a_stop() if state is STOPPING else None
    world = a_world(
        a_job(state=state, desired=Desired.CANCELLED), attempts=(an_attempt(stop=stop),), facts=(ended(*exits),)
    )
    assert only(decided(world)).job.state is JobState.CANCELLED


@pytest.mark.parametrize("reason", [Reason.EVICTED, Reason.TIMEOUT, Reason.RESIZED])
def test_a_gang_that_is_done_before_its_stop_reaches_it_has_succeeded(reason):
    world = a_world(
        a_job(state=STOPPING), attempts=(an_attempt(stop=a_stop(reason)),), facts=(ended(an_exit(0), an_exit(1)),)
    )
    assert only(decided(world)).job.state is JobState.SUCCEEDED


def test_an_eviction_is_a_stop_order_with_grace_and_a_free_restart_at_the_head_of_the_band():
    low = a_job("job_1", state=RUNNING, priority="batch/0", grace="20s")
    urgent = a_job("job_2", priority="production/0")
    running = an_attempt(ordered_at_ms=NOW - 600_000)
    changes = decided(a_world(low, urgent, attempts=(running,), slices=(a_slice(),)))
    stopped = next(change for change in changes.jobs if change.job.id == "job_1")
    assert (stopped.job.state, stopped.attempt.stop.reason, stopped.attempt.stop.grace_ms) == (
        STOPPING,
        Reason.EVICTED,
        20_000,
    )
    assert "evicted for job_2" in stopped.events[0].message
    gone = ended(an_exit(0, signal=15, ordered=True), an_exit(1, signal=15, ordered=True), trouble="evicted")
    after = decided(a_world(stopped.job, urgent, attempts=(stopped.attempt,), slices=(a_slice(),), facts=(gone,)))
    back, started = after.jobs
    assert (back.job.state, back.job.charges, back.job.evictions) == (QUEUED, Charges(), 1)
    assert started.started.slices == ("pool-0",)


def test_an_expected_runtime_lets_a_job_pass_one_that_waits_for_more():
    big, small = a_job("big", slices="v5e:4x4", at=NOW - 9), a_job("small", expected_runtime="1m", at=NOW - 8)
    assert decided(a_world(big, small, slices=(a_slice(),))).jobs[0].job.id == "small"


def test_time_runs_out():
    job = a_job(state=RUNNING, max_runtime="1s", started_at_ms=NOW - 1000)
    change = only(decided(a_world(job, attempts=(an_attempt(),))))
    assert (change.job.state, change.attempt.stop.reason) == (STOPPING, Reason.TIMEOUT)
    facts = (ended(an_exit(0, signal=15, ordered=True), an_exit(1, signal=15, ordered=True), trouble="timeout"),)
    last = only(decided(a_world(change.job, attempts=(change.attempt,), facts=facts)))
    assert (last.job.state, last.job.reason) == (JobState.FAILED, Reason.TIMEOUT)


def test_a_job_that_waits_too_long_is_unschedulable_and_says_what_it_wanted():
    job = a_job(max_wait="3s", at=NOW - 3_000, message="wants v5e:2x4: 0 of that shape are up")
    change = only(decided(a_world(job)))
    assert (change.job.state, change.job.reason) == (JobState.FAILED, Reason.UNSCHEDULABLE)
    assert "0 of that shape" in change.job.message
    assert decided(a_world(a_job(max_wait="3s", at=NOW))).due_at_ms == NOW + 3_000


@pytest.mark.parametrize(
    "fact",
    [
        ended(an_exit(0, code=1), attempt="att_job_1_0"),
        GangReady("gang_ready", "att_job_1_0", (), NOW),
        SliceDown("slice_down", "pool-0", "inc-0", "late news", NOW),
        SliceDown("slice_down", "pool-9", "inc-1", "never heard of", NOW),
    ],
    ids=["end", "ready", "older incarnation", "unknown slice"],
)
def test_reports_about_what_is_past_change_nothing(fact):
    world = a_world(a_job(state=RUNNING), attempts=(an_attempt(number=2),), slices=(a_slice(),), facts=(fact,))
    changes = decided(world)
    assert (changes.jobs, changes.slices, changes.ignored) == ((), (), (1,))


def test_slices_come_and_go():
    up = SliceUp("slice_up", "pool-0", "inc-2", "pool", "v5e:2x4", "spot", (HostInfo(0, "n", "127.0.0.1", 4),), NOW)
    down = SliceDown("slice_down", "pool-0", "inc-2", "host 1 died", NOW)
    (joined,) = decided(a_world(facts=(up,))).slices
    assert (joined.slice.state, joined.slice.incarnation, joined.events[0].kind) == (SliceState.UP, "inc-2", "slice.up")
    (left,) = decided(a_world(slices=(joined.slice,), facts=(down,))).slices
    assert (left.slice.state, left.slice.message, left.events[0].kind) == (SliceState.DOWN, "host 1 died", "slice.down")
    (repeated,) = decided(a_world(slices=(joined.slice,), facts=(up,))).slices
    assert repeated.events == ()


def test_a_slice_of_a_shape_that_nobody_knows_is_passed_over():
    up = SliceUp("slice_up", "pool-0", "inc-1", "pool", "v99:2x4", "spot", (), NOW)
    changes = decided(a_world(a_job(), facts=(up,)))
    assert (changes.slices, changes.ignored) == ((), (1,))


def test_a_slice_that_joins_takes_a_waiting_job_in_the_same_tick():
    up = SliceUp("slice_up", "pool-0", "inc-1", "pool", "v5e:2x4", "spot", (), NOW)
    assert only(decided(a_world(a_job(), facts=(up,)))).started.slices == ("pool-0",)


def test_a_defect_about_one_job_leaves_it_as_it_is_and_the_others_go_on(monkeypatch):
    facts = (ended(an_exit(0), an_exit(1)), ended(an_exit(0), an_exit(1), attempt="att_job_2_1"))
    world = a_world(
        a_job("job_1", state=RUNNING),
        a_job("job_2", state=RUNNING),
        attempts=(an_attempt("job_1"), an_attempt("job_2", slices=("pool-1",))),
        slices=(a_slice("pool-0"), a_slice("pool-1")),
        facts=facts,
    )
    monkeypatch.setattr("orchestrator.reconciler.fold.settle", _fails_for("job_1"))
    changes = decided(world)
    assert (only(changes).job.id, only(changes).job.state) == ("job_2", JobState.SUCCEEDED)
    assert changes.defects == ("job_1: IllegalTransition: a rule that nobody thought of",)
    assert 1 not in (*only(changes).folded, *changes.ignored)


def _fails_for(job_id):
    def settling(desk, draft, cause, root):
        if draft.job.id == job_id:
            raise IllegalTransition("a rule that nobody thought of")
        settle(desk, draft, cause, root)

    return settling


def test_a_restarted_job_is_expected_to_take_what_is_left():
    lost = ended(an_exit(1, lost=True))
    report = Progress("att_job_1_1", step=9, committed_step=8, first_step_at_ms=NOW - 800, committed_at_ms=NOW - 300)
    job = a_job(state=RUNNING, expected_runtime="1h", done_ms=100)
    change = only(decided(a_world(job, attempts=(an_attempt(),), facts=(lost,), progress=(report,))))
    assert (change.job.state, change.job.done_ms) == (QUEUED, 600)


def test_a_list_of_kinds_of_capacity_is_tried_in_its_order():
    paid, spot = a_slice("paid", capacity="on_demand", pool="paid"), a_slice("spot-0")
    wants = a_job(capacity=(Capacity.SPOT, Capacity.ON_DEMAND))
    assert only(decided(a_world(wants, slices=(paid, spot)))).started.slices == ("spot-0",)
    assert only(decided(a_world(wants, slices=(paid,)))).started.slices == ("paid",)
    assert decided(a_world(a_job(capacity=Capacity.SPOT), slices=(paid,))).jobs == ()
