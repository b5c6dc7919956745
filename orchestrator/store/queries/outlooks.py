"""What is known of the jobs that wait."""

from collections.abc import Collection

from sqlalchemy import select

from orchestrator.domain.ids import JobId
from orchestrator.domain.outlook import Outlook
from orchestrator.store import queue_rows
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import jobs, outlooks


async def outlook(tx: ReadTx, job_id: JobId) -> Outlook | None:
    """The job's, as the leader last saw it; None before it has looked, and once the job waits no longer."""
    found = (await tx.ask(select(outlooks).where(outlooks.c.job_id == job_id))).mappings().one_or_none()
    return None if found is None else queue_rows.outlook_of(found)


async def names(tx: ReadTx, ids: Collection[JobId], seen_by: Collection[str] | None) -> dict[JobId, str]:
    """The names of those of the jobs that a caller with the projects `seen_by` (None: all) may see."""
    asked = select(jobs.c.id, jobs.c.name).where(jobs.c.id.in_(ids))
    if seen_by is not None:
        asked = asked.where(jobs.c.project.in_(seen_by))
    return {JobId(row.id): row.name for row in await tx.ask(asked)}
