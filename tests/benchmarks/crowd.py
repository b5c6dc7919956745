"""A database with very many jobs that have ended, and ten events of each; filled by the database itself."""

from typing import Any, Final

from sqlalchemy import ColumnElement, Insert, insert, literal, select, union_all

from orchestrator.domain.job import Event
from orchestrator.domain.lifecycle import JobState
from orchestrator.store import rows
from orchestrator.store.database import Database
from orchestrator.store.schema import events
from orchestrator.store.schema import jobs as table
from tests.builders import NOW, a_job

EVENTS_EACH: Final = 10
PROJECTS, OWNERS, NAMES = 20, 50, 100
_AT_ONCE: Final = 10_000
_STATES: Final = (JobState.SUCCEEDED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


async def fill(database: Database, jobs: int) -> list[str]:
    """The ids of the jobs, oldest first."""
    ids = [f"job_{number:07d}" for number in range(jobs)]
    template = rows.new_job_row(a_job(ids[0], JobState.SUCCEEDED)) | {"ended_at_ms": NOW, "events": EVENTS_EACH}
    for first in range(0, jobs, _AT_ONCE):
        part = range(first, min(first + _AT_ONCE, jobs))
        async with database.write() as tx:
            await tx.tell(insert(table), [template | _job(ids[number], number) for number in part])
    async with database.write() as tx:
        await tx.tell(_events())
    await database.close()
    return ids


def _job(job_id: str, number: int) -> dict[str, Any]:
    return {
        "id": job_id,
        "name": f"job-{number % NAMES}",
        "project": f"project-{number % PROJECTS}",
        "owner": f"owner-{number % OWNERS}",
        "state": _STATES[number % len(_STATES)].value,
    }


def _events() -> Insert:
    """One INSERT … SELECT: every job with every sequence number."""
    template = rows.event_row(Event("job.state", NOW, "something happened"))
    numbers = union_all(*(select(literal(n).label("sequence")) for n in range(1, EVENTS_EACH + 1))).subquery()
    differ = {"job_id": table.c.id, "project": table.c.project, "sequence": numbers.c.sequence}
    same = {name: literal(value, events.c[name].type) for name, value in template.items()}
    fields: dict[str, ColumnElement[Any]] = {**same, **differ}
    chosen = select(*fields.values()).select_from(table.join(numbers, literal(True))).order_by(table.c.row_id)
    return insert(events).from_select(list(fields), chosen)
