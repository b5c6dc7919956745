"""What an ending means for the job: retry within the budget that it is charged to, or a final state with its reason."""

from dataclasses import replace
from typing import Final

from orchestrator.domain.endings import Budget, Outcome, Reason, ending
from orchestrator.domain.incident import Cause, RankExit
from orchestrator.domain.job import Charges, Desired, Job
from orchestrator.domain.lifecycle import JobEvent, JobState
from orchestrator.domain.rules import Do, first_that_applies
from orchestrator.domain.spec import as_count
from orchestrator.reconciler.desk import Desk, JobDraft
from orchestrator.scheduler.estimate import done_ms

FIRST_BACKOFF_MS: Final = 1_000
LONGEST_BACKOFF_MS: Final = 60_000
_BACKS_OFF: Final = frozenset({Budget.FAILURES, Budget.INFRA, Budget.STALLS})
"""A lost slice is nobody's fault and another one is sound: preemptions restart at once."""


def settle(desk: Desk, draft: JobDraft, cause: Cause, root: RankExit | None = None) -> None:
    """Move the job on after its attempt ended with `cause`; `root` is the rank to blame, if its exit is known."""
    job = _with_progress(desk, draft, cause)
    row = ending(cause.reason)
    ruled = None if root is None else first_that_applies(job.spec.rules, root.exit_code, root.stderr_tail)
    if ruled is not None and ruled[1].do is Do.RETRY:
        row = replace(row, retries=True, charges=row.charges or Budget.FAILURES)
    if job.desired is Desired.CANCELLED or cause.reason is Reason.CANCELLED:
        _cancel(desk, draft, job)
    elif cause.reason is Reason.HELD and job.desired is Desired.HELD:
        draft.job = replace(job, queued_at_ms=desk.world.now_ms, reason=cause.reason, message="held by its owner")
        desk.move(draft, JobEvent.HELD, "held")
    elif row.outcome is Outcome.SUCCEEDED:
        _finish(desk, draft, job, JobEvent.COMPLETED, cause.reason, cause.sentence)
    elif ruled is not None and ruled[1].do is Do.FAIL:
        said = f"{cause.sentence}; rules[{ruled[0]}] says not to try again"
        _finish(desk, draft, job, JobEvent.GAVE_UP, cause.reason, said)
    elif not row.retries:
        _finish(desk, draft, job, JobEvent.GAVE_UP, cause.reason, cause.sentence)
    elif _stuck(job):
        said = f"{job.without_progress} attempts in a row committed no new step; the last: {cause.sentence}"
        _finish(desk, draft, job, JobEvent.GAVE_UP, Reason.NO_PROGRESS, said)
    elif row.charges is not None and _spent(job, row.charges):
        limit = job.spec.retry.limit(row.charges)
        said = f"{cause.sentence}; all {limit} restarts for {row.charges} are used" if limit else cause.sentence
        _finish(desk, draft, job, JobEvent.GAVE_UP, cause.reason, said)
    else:
        _retry(desk, draft, job, cause, row.charges)


def end_without_attempt(desk: Desk, draft: JobDraft, event: JobEvent, reason: Reason, message: str) -> None:
    """End a job that no attempt holds."""
    _finish(desk, draft, draft.job, event, reason, message)


def _with_progress(desk: Desk, draft: JobDraft, cause: Cause) -> Job:
    """The job with what the ended attempt committed. A program that never reports a step is unobserved: not counted."""
    job, attempt = draft.job, draft.attempt
    if attempt is None:
        return job
    progress = desk.progress(attempt.id)
    known = job.committed_step if job.committed_step is not None else -1
    job = replace(job, done_ms=job.done_ms + done_ms(job.spec, attempt, progress))
    if progress.committed_step is not None and progress.committed_step > known:
        return replace(job, committed_step=progress.committed_step, without_progress=0)
    if progress.step is None or cause.reason is Reason.COMPLETED:
        return job
    return replace(job, without_progress=job.without_progress + 1)


def _stuck(job: Job) -> bool:
    limit = as_count(job.spec.retry.without_progress)
    return limit is not None and job.without_progress > limit


def _spent(job: Job, budget: Budget) -> bool:
    limit = job.spec.retry.limit(budget)
    return limit is not None and job.charges.of(budget) >= limit


def _retry(desk: Desk, draft: JobDraft, job: Job, cause: Cause, budget: Budget | None) -> None:
    now = desk.world.now_ms
    charges = job.charges if budget is None else job.charges.plus(budget)
    wait = _backoff_ms(charges, budget)
    charged = f" (charged to {budget})" if budget else ""
    draft.job = replace(
        job,
        charges=charges,
        queued_at_ms=now,
        not_before_ms=now + wait,
        reason=cause.reason,
        message=cause.sentence,
        evictions=job.evictions + (cause.reason is Reason.EVICTED),
        resize_to=_next_size(draft, cause),
    )
    desk.move(draft, JobEvent.RETRIED, f"{cause.sentence}; queued again{charged}")


def _next_size(draft: JobDraft, cause: Cause) -> int | None:
    """The number of slices that a resize chose; after any other end an elastic job takes what there is."""
    stop = draft.attempt.stop if draft.attempt else None
    return stop.resize_to if stop is not None and cause.reason is Reason.RESIZED else None


def _backoff_ms(charges: Charges, budget: Budget | None) -> int:
    """1 s, 2 s, 4 s, … at most a minute, by the number of charges to the budget."""
    if budget not in _BACKS_OFF or budget is None:
        return 0
    return int(min(FIRST_BACKOFF_MS * 2 ** min(charges.of(budget) - 1, 16), LONGEST_BACKOFF_MS))


def _cancel(desk: Desk, draft: JobDraft, job: Job) -> None:
    """Cancelled for good, even if the end came by itself before the stop order reached it."""
    draft.job = job
    if job.state is not JobState.STOPPING:
        desk.move(draft, JobEvent.STOP_ORDERED, "cancelled")
    _finish(desk, draft, draft.job, JobEvent.CANCELLED, Reason.CANCELLED, "cancelled")


def _finish(desk: Desk, draft: JobDraft, job: Job, event: JobEvent, reason: Reason, message: str) -> None:
    draft.job = replace(job, reason=reason, message=message, ended_at_ms=desk.world.now_ms)
    if event is JobEvent.COMPLETED and draft.job.state is JobState.STARTING:
        desk.move(draft, JobEvent.GANG_READY, "all ranks have run")  # the report of it is on its way
    desk.move(draft, event, message)
