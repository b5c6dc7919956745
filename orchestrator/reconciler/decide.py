"""`decide(world)`: fold in the facts, honour intents and deadlines, then let the scheduler place what waits. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from orchestrator.changes import Changes
from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import AttemptId, NewId
from orchestrator.domain.job import Attempt, Desired, Job, SliceState, Stop
from orchestrator.domain.lifecycle import WAITING, JobEvent, JobState
from orchestrator.protocol import GangEnded, GangReady, SliceDown, SliceUp
from orchestrator.reconciler import fold
from orchestrator.reconciler.desk import Desk, JobDraft
from orchestrator.reconciler.gating import keep_held, pass_gates
from orchestrator.reconciler.settle import end_without_attempt
from orchestrator.scheduler.plan import Start, plan
from orchestrator.scheduler.snapshot import OfferedSlice, Snapshot, WaitingJob
from orchestrator.world import StoredFact, World

CLUSTER_SILENT_AFTER_MS: Final = 60_000
"""A cluster process polls at least every 25 s; after this nothing new is placed there, and nothing ends."""


def decide(world: World, new_id: NewId) -> Changes:
    """All that shall change now. Level-triggered: the same world gives the same decisions, whatever was lost before."""
    desk = Desk(world)
    for fact in world.facts:
        _take_in(desk, fact)
    for draft in tuple(desk.drafts()):
        _honour_intent(desk, draft)
        keep_held(desk, draft)
        _keep_deadlines(desk, draft)
        _drain(desk, draft)
    pass_gates(desk)
    _place(desk, new_id)
    return desk.changes(_due_at_ms((draft.job for draft in desk.drafts()), world.now_ms))


def _take_in(desk: Desk, fact: StoredFact) -> None:
    match fact.body:
        case SliceUp() as up:
            fold.slice_up(desk, fact, up)
        case SliceDown() as down:
            fold.slice_down(desk, fact, down)
        case GangReady() as ready:
            fold.gang_ready(desk, fact, ready)
        case GangEnded() as ended:
            fold.gang_ended(desk, fact, ended)


def _honour_intent(desk: Desk, draft: JobDraft) -> None:
    if draft.job.desired is Desired.HELD:
        _order_stop(desk, draft, Reason.HELD, "held by its owner")
    if draft.job.desired is not Desired.CANCELLED:
        return
    if draft.job.state in WAITING:
        end_without_attempt(desk, draft, JobEvent.CANCELLED, Reason.CANCELLED, "cancelled while it waited")
    else:
        _order_stop(desk, draft, Reason.CANCELLED, "cancelled")


def _keep_deadlines(desk: Desk, draft: JobDraft) -> None:
    job, now = draft.job, desk.world.now_ms
    runtime, wait = job.spec.max_runtime_ms, job.spec.max_wait_ms
    if runtime is not None and job.started_at_ms is not None and now >= job.started_at_ms + runtime:
        ran_out = f"max_runtime of {job.spec.max_runtime} passed"
        if job.state in WAITING:
            end_without_attempt(desk, draft, JobEvent.GAVE_UP, Reason.TIMEOUT, ran_out)
        else:
            _order_stop(desk, draft, Reason.TIMEOUT, ran_out)
    elif wait is not None and job.state is JobState.QUEUED and not job.attempts and now >= job.created_at_ms + wait:
        said = f"max_wait of {job.spec.max_wait} passed; {job.message or 'no slices were free'}"
        end_without_attempt(desk, draft, JobEvent.GAVE_UP, Reason.UNSCHEDULABLE, said)


def _drain(desk: Desk, draft: JobDraft) -> None:
    """What runs on a slice that an admin drains goes on elsewhere."""
    if draft.attempt is not None and not desk.world.draining.isdisjoint(draft.attempt.slices):
        _order_stop(desk, draft, Reason.EVICTED, "its slice is drained")


def _order_stop(desk: Desk, draft: JobDraft, reason: Reason, message: str) -> None:
    """Tell the live attempt to end, once: the first stop stands."""
    if draft.job.state not in (JobState.STARTING, JobState.RUNNING) or draft.attempt is None:
        return
    draft.attempt = replace(draft.attempt, stop=Stop(reason, draft.job.spec.grace_ms, desk.world.now_ms))
    desk.move(draft, JobEvent.STOP_ORDERED, f"attempt {draft.attempt.number} is told to stop: {message}")


def _place(desk: Desk, new_id: NewId) -> None:
    now = desk.world.now_ms
    waiting = [draft for draft in desk.drafts() if draft.job.state is JobState.QUEUED]
    ready = tuple(_waiting(draft.job) for draft in waiting if draft.job.not_before_ms <= now)
    decided = plan(Snapshot(ready, _offers(desk)))
    for start in decided.starts:
        _start(desk, start, new_id)
    for wait in decided.waits:
        draft = desk.draft(wait.job_id)
        draft.job = replace(draft.job, message=wait.says if desk.slices() else "no slice has come up yet")


def _start(desk: Desk, start: Start, new_id: NewId) -> None:
    draft, now = desk.draft(start.job_id), desk.world.now_ms
    job = draft.job
    attempt = Attempt(
        id=AttemptId(new_id("att")),
        job_id=job.id,
        number=job.attempts + 1,
        cluster_id=start.placement.cluster_id,
        slices=start.placement.slices,
        chips=start.placement.chips,
        epoch=desk.world.epoch,
        ordered_at_ms=now,
    )
    draft.started = attempt
    draft.job = replace(job, attempts=attempt.number, started_at_ms=job.started_at_ms or now, message="", reason=None)
    desk.move(draft, JobEvent.PLACED, f"attempt {attempt.number} starts on {', '.join(attempt.slices)}")


def _waiting(job: Job) -> WaitingJob:
    spec = job.spec
    return WaitingJob(job.id, spec.choices, spec.capacity, spec.band, spec.rank_in_band, job.created_at_ms)


def _offers(desk: Desk) -> tuple[OfferedSlice, ...]:
    """Slices that are up in clusters that answer."""
    now = desk.world.now_ms
    answering = {c.id for c in desk.world.clusters if now - c.seen_at_ms <= CLUSTER_SILENT_AFTER_MS}
    held = desk.held_slices()
    return tuple(
        OfferedSlice(s.id, s.cluster_id, s.pool, s.shape, s.capacity, free=s.id not in held)
        for s in desk.slices()
        if s.state is SliceState.UP and s.cluster_id in answering and s.id not in desk.world.health
    )


def _due_at_ms(jobs: Iterable[Job], now_ms: int) -> int | None:
    """The next moment at which time alone changes a decision."""
    due = []
    for job in jobs:
        if job.state is JobState.QUEUED:
            due.append(job.not_before_ms)
            if job.spec.max_wait_ms is not None and not job.attempts:
                due.append(job.created_at_ms + job.spec.max_wait_ms)
        if job.spec.max_runtime_ms is not None and job.started_at_ms is not None:
            due.append(job.started_at_ms + job.spec.max_runtime_ms)
    return min((at for at in due if at > now_ms), default=None)
