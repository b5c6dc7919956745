"""Keep what the leader found out about the jobs that wait."""

from collections.abc import Sequence

from sqlalchemy import delete, select

from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.outlook import Outlook
from orchestrator.store import queue_rows
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import jobs, outlooks


async def keep(tx: WriteTx, found: Sequence[Outlook]) -> None:
    """Put these in the place of what was known of their jobs, and forget jobs that wait no longer."""
    await tx.put(outlooks, [queue_rows.outlook_row(one) for one in found])
    queued = select(jobs.c.id).where(jobs.c.state == JobState.QUEUED.value)
    await tx.tell(delete(outlooks).where(outlooks.c.job_id.not_in(queued)))
