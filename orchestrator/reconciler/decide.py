"""`decide(world)`: fold in the facts, honour intents and deadlines, then let the scheduler place what waits. Pure."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from orchestrator.changes import Changes
from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import NewId
from orchestrator.domain.job import Desired, Job
from orchestrator.domain.lifecycle import WAITING, JobEvent, JobState
from orchestrator.protocol import GangEnded, GangReady, SliceDown, SliceUp
from orchestrator.reconciler import fold
from orchestrator.reconciler.desk import Desk, JobDraft
from orchestrator.reconciler.gating import keep_held, pass_gates
from orchestrator.reconciler.placing import order_stop, place
from orchestrator.reconciler.settle import end_without_attempt
from orchestrator.scheduler.policy import DEFAULT, Policy
from orchestrator.world import StoredFact, World


def decide(world: World, new_id: NewId, policy: Policy = DEFAULT) -> Changes:
    """All that shall change now. Level-triggered: the same world gives the same decisions, whatever was lost before."""
    desk = Desk(world)
    for fact in world.facts:
        _take_in(desk, fact)
    for draft in tuple(desk.drafts()):
        with _setting_aside(desk, draft):
            _honour_intent(desk, draft)
            keep_held(desk, draft)
            _keep_deadlines(desk, draft)
            _drain(desk, draft)
    pass_gates(desk)
    due_at_ms = place(desk, new_id, policy)
    deadline_at_ms = _due_at_ms((draft.job for draft in desk.drafts()), world.now_ms)
    return desk.changes(min((at for at in (due_at_ms, deadline_at_ms) if at is not None), default=None))


def _take_in(desk: Desk, fact: StoredFact) -> None:
    match fact.body:
        case SliceUp() as up:
            fold.slice_up(desk, fact, up)
        case SliceDown() as down:
            fold.slice_down(desk, fact, down)
        case GangReady() | GangEnded() as body:
            draft = desk.draft_of(body.attempt_id)
            if draft is None:  # it ended before, or never was: the first verdict stands
                desk.ignore(fact.row_id)
            elif not draft.aside:
                with _setting_aside(desk, draft):
                    fold.gang_fact(desk, draft, fact.row_id, body)


@contextmanager
def _setting_aside(desk: Desk, draft: JobDraft) -> Iterator[None]:
    """Set the job aside if our rules about it fail, so that the tick goes on without it."""
    try:
        yield
    except Exception as defect:  # noqa: BLE001  # whatever it is, it concerns this job alone
        desk.set_aside(draft, defect)


def _honour_intent(desk: Desk, draft: JobDraft) -> None:
    if draft.job.desired is Desired.HELD:
        order_stop(desk, draft, Reason.HELD, "held by its owner")
    if draft.job.desired is not Desired.CANCELLED:
        return
    if draft.job.state in WAITING:
        end_without_attempt(desk, draft, JobEvent.CANCELLED, Reason.CANCELLED, "cancelled while it waited")
    else:
        order_stop(desk, draft, Reason.CANCELLED, "cancelled")


def _keep_deadlines(desk: Desk, draft: JobDraft) -> None:
    job, now = draft.job, desk.world.now_ms
    runtime, wait = job.spec.max_runtime_ms, job.spec.max_wait_ms
    if runtime is not None and job.started_at_ms is not None and now >= job.started_at_ms + runtime:
        ran_out = f"max_runtime of {job.spec.max_runtime} passed"
        if job.state in WAITING:
            end_without_attempt(desk, draft, JobEvent.GAVE_UP, Reason.TIMEOUT, ran_out)
        else:
            order_stop(desk, draft, Reason.TIMEOUT, ran_out)
    elif wait is not None and job.state is JobState.QUEUED and not job.attempts and now >= job.created_at_ms + wait:
        said = f"max_wait of {job.spec.max_wait} passed; {job.message or 'no slices were free'}"
        end_without_attempt(desk, draft, JobEvent.GAVE_UP, Reason.UNSCHEDULABLE, said)


def _drain(desk: Desk, draft: JobDraft) -> None:
    """What runs on a slice that an admin drains goes on elsewhere."""
    if draft.attempt is not None and not desk.world.draining.isdisjoint(draft.attempt.slices):
        order_stop(desk, draft, Reason.EVICTED, "its slice is drained")


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
