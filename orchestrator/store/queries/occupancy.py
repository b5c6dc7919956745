"""Which attempts held which slices, for pictures of a fleet over time."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import or_, select

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.store import rows
from orchestrator.store.database import ReadTx
from orchestrator.store.queries.jobs import JobFilter
from orchestrator.store.schema import attempts, jobs


@dataclass(frozen=True, slots=True)
class Stay:
    """One attempt on its slices."""

    attempt_id: AttemptId
    number: int
    job_id: JobId
    job_name: str
    project: str
    slices: tuple[SliceId, ...]
    since_ms: int
    until_ms: int | None
    """None: it is there."""
    reason: Reason | None


async def stays(tx: ReadTx, since_ms: int, limit: int, seen_by: Collection[str] | None) -> tuple[Stay, ...]:
    """Those that had not ended at `since_ms`, newest first, of jobs of the projects `seen_by` (None: all)."""
    asked = (
        select(attempts, jobs.c.name, jobs.c.project)
        .join(jobs, jobs.c.id == attempts.c.job_id)
        .where(
            or_(attempts.c.ended_at_ms.is_(None), attempts.c.ended_at_ms > since_ms),
            *JobFilter(seen_by=seen_by).conditions,
        )
        .order_by(attempts.c.ordered_at_ms.desc(), attempts.c.id)
        .limit(limit)
    )
    found = []
    for row in (await tx.ask(asked)).mappings():
        one = rows.attempt_of(row)
        found.append(
            Stay(
                one.id,
                one.number,
                one.job_id,
                row["name"],
                row["project"],
                one.slices,
                one.ordered_at_ms,
                one.ended_at_ms,
                one.reason,
            )
        )
    return tuple(found)
