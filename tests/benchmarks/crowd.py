"""A database with very many jobs that have ended, and ten events of each."""

from typing import Any

from sqlalchemy import insert

from orchestrator.domain.job import Event
from orchestrator.domain.lifecycle import JobState
from orchestrator.store import rows
from orchestrator.store.database import Database
from orchestrator.store.schema import events
from orchestrator.store.schema import jobs as table
from tests.builders import NOW, a_job

EVENTS_EACH = 10
_AT_ONCE = 5_000
_STATES = (JobState.SUCCEEDED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


async def fill(database: Database, jobs: int) -> list[str]:
    """The ids of the jobs, oldest first."""
    ids = [f"job_{number:07d}" for number in range(jobs)]
    for first in range(0, jobs, _AT_ONCE):
        part = range(first, min(first + _AT_ONCE, jobs))
        async with database.write() as tx:
            await tx.tell(insert(table), [_job(ids[number], number) for number in part])
            await tx.tell(insert(events), [_event(ids[n], k) for n in part for k in range(1, EVENTS_EACH + 1)])
    await database.close()
    return ids


def _job(job_id: str, number: int) -> dict[str, Any]:
    state = _STATES[number % len(_STATES)]
    row = rows.new_job_row(a_job(job_id, state, name=f"job-{number % 100}"))
    return row | {"ended_at_ms": NOW, "events": EVENTS_EACH, "attempts": 0}


def _event(job_id: str, sequence: int) -> dict[str, Any]:
    row = rows.event_row(Event("job.state", NOW, "something happened", job_id))  # type: ignore[arg-type]
    return row | {"sequence": sequence, "project": "default"}
