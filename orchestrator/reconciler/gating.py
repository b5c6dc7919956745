"""Before the queue: what owners hold, what waits for other jobs or for its turn in an array, and what drains. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from orchestrator.domain.endings import Reason
from orchestrator.domain.gates import Gate, Impossible, Met, Waiting, look
from orchestrator.domain.ids import ArrayId
from orchestrator.domain.job import Desired, Job
from orchestrator.domain.lifecycle import ACTIVE, JobEvent, JobState
from orchestrator.reconciler.desk import Desk, JobDraft
from orchestrator.reconciler.settle import end_without_attempt


def keep_held(desk: Desk, draft: JobDraft) -> None:
    """Hold what waits, if its owner wants it held, and let go of what they released."""
    held = draft.job.desired is Desired.HELD
    if held and draft.job.state in (JobState.QUEUED, JobState.BLOCKED):
        draft.job = replace(draft.job, message="held by its owner")
        desk.move(draft, JobEvent.HELD, "held")
    elif not held and draft.job.state is JobState.HELD:
        draft.job = replace(draft.job, message="", reason=None)
        desk.move(draft, JobEvent.RELEASED, "released")


def pass_gates(desk: Desk) -> None:
    """Let blocked jobs into the queue as soon as what they wait for has happened; end those for which it cannot."""
    drafts = tuple(desk.drafts())
    states = {**desk.world.ended, **desk.states()}
    running = Counter(draft.job.array.id for draft in drafts if draft.job.array and _takes_a_turn(draft.job))
    for draft in drafts:
        if draft.job.state is not JobState.BLOCKED:
            continue
        match _gate(draft.job, states, running):
            case Met():
                draft.job = replace(draft.job, message="", queued_at_ms=desk.world.now_ms)
                desk.move(draft, JobEvent.UNBLOCKED, "all that it waited for has happened")
                if draft.job.array:
                    running[draft.job.array.id] += 1
            case Waiting(says):
                draft.job = replace(draft.job, message=says)
            case Impossible(says):
                end_without_attempt(desk, draft, JobEvent.GAVE_UP, Reason.DEPENDENCY_FAILED, says)


def _gate(job: Job, states: Mapping[str, JobState], running: Mapping[ArrayId, int]) -> Gate:
    gate = look(job.spec.after, states)
    array = job.array
    if not isinstance(gate, Met) or array is None or array.limit is None or running[array.id] < array.limit:
        return gate
    return Waiting(f"waits for its turn: {array.limit} jobs of array {array.id} are let in at once")


def _takes_a_turn(job: Job) -> bool:
    return job.state is JobState.QUEUED or job.state in ACTIVE
