"""What accounting works on: each attempt's measured times."""

from orchestrator.accounting.ledger import AttemptHistory
from orchestrator.domain.ids import AttemptId, JobId
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import jobs, reports


async def histories(tx: ReadTx, job_id: JobId) -> tuple[AttemptHistory, ...]:
    """Of every attempt of a job, oldest first."""
    attempts = await jobs.attempts_of(tx, job_id)
    progress = await jobs.progress_of(tx, [attempt.id for attempt in attempts])
    phases: dict[AttemptId, list[tuple[str, int]]] = {}
    for mark in await reports.phases_of(tx, job_id):
        phases.setdefault(mark.attempt_id, []).append((mark.phase, mark.at_ms))
    commits: dict[AttemptId, list[tuple[int, int]]] = {}
    for saved in await reports.checkpoints_of(tx, job_id):
        made_at_ms = saved.at_ms if saved.step_at_ms is None else saved.step_at_ms
        commits.setdefault(saved.attempt_id, []).append((saved.step, made_at_ms))
    return tuple(
        AttemptHistory(
            chips=attempt.chips,
            ordered_at_ms=attempt.ordered_at_ms,
            ready_at_ms=attempt.ready_at_ms,
            detected_at_ms=attempt.detected_at_ms,
            ended_at_ms=attempt.ended_at_ms,
            phases=tuple(phases.get(attempt.id, ())),
            first_step_at_ms=reported.first_step_at_ms if (reported := progress.get(attempt.id)) else None,
            last_report_at_ms=reported.last_report_at_ms if reported else None,
            commits=tuple(commits.get(attempt.id, ())),
            resumed_step=reported.resumed_step if reported else None,
        )
        for attempt in attempts
    )
