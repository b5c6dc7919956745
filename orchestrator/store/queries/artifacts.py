"""What programs left, and how much of it is here."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, select

from orchestrator.domain.errors import NotFound
from orchestrator.domain.ids import JobId
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import artifacts, attempts


@dataclass(frozen=True, slots=True)
class Artifact:
    row_id: int
    attempt: int
    """The number of the attempt."""
    rank: int
    path: str
    size: int
    modified_ns: int
    state: str
    stored: int
    blob: str
    note: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class ArtifactFilter:
    """Which of a job's artifacts; None is any."""

    attempt: int | None = None
    rank: int | None = None
    state: str | None = None
    prefix: str | None = None


async def artifacts_of(
    tx: ReadTx, job_id: JobId, wanted: ArtifactFilter, limit: int, after: int | None
) -> tuple[Artifact, ...]:
    """At most `limit`, in the order in which they came, beyond the place `after`."""
    asked = _asked(job_id).where(artifacts.c.row_id > (after or 0))
    for column, value in (
        (attempts.c.number, wanted.attempt),
        (artifacts.c.rank, wanted.rank),
        (artifacts.c.state, wanted.state),
    ):
        if value is not None:
            asked = asked.where(column == value)
    if wanted.prefix:
        asked = asked.where(artifacts.c.path.startswith(wanted.prefix, autoescape=True))
    found = await tx.ask(asked.order_by(artifacts.c.row_id).limit(limit))
    return tuple(Artifact(**row) for row in found.mappings())


async def artifact(tx: ReadTx, job_id: JobId, row_id: int) -> Artifact:
    """Raises NotFound if the job has none with this number."""
    row = (await tx.ask(_asked(job_id).where(artifacts.c.row_id == row_id))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"job {job_id} has no artifact {row_id}")
    return Artifact(**row)


def _asked(job_id: JobId) -> Select[Any]:
    names = ("row_id", "rank", "path", "size", "modified_ns", "state", "stored", "blob", "note", "at_ms")
    columns = [artifacts.c[name] for name in names]
    joined = artifacts.join(attempts, attempts.c.id == artifacts.c.attempt_id)
    return select(*columns, attempts.c.number.label("attempt")).select_from(joined).where(artifacts.c.job_id == job_id)
