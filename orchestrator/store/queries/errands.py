"""What clusters shall do to checkpoint objects, and what became of it."""

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import select

from orchestrator.domain.errors import NotFound
from orchestrator.domain.ids import ClusterId, JobId
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import errands

Kind = Literal["verify", "delete", "export", "orphans"]
AT_ONCE = 200
"""So many travel in one set of orders; the rest follow as these are done."""


@dataclass(frozen=True, slots=True)
class Errand:
    """One errand. `ok` is None while it is not done."""

    id: str
    cluster_id: ClusterId
    job_id: JobId
    kind: Kind
    path: str
    target: str | None
    asked_at_ms: int
    done_at_ms: int | None
    ok: bool | None
    message: str


async def open_of(tx: ReadTx, cluster_id: ClusterId) -> tuple[Errand, ...]:
    """The oldest that the cluster has not reported."""
    mine = (errands.c.cluster_id == cluster_id) & errands.c.done_at_ms.is_(None)
    asked = select(errands).where(mine).order_by(errands.c.asked_at_ms, errands.c.id).limit(AT_ONCE)
    return tuple(_errand(row) for row in (await tx.ask(asked)).mappings())


async def get(tx: ReadTx, errand_id: str, job_id: JobId | None = None) -> Errand:
    """Raises NotFound when there is none of that id, or when it is of another job."""
    asked = select(errands).where(errands.c.id == errand_id)
    if job_id is not None:
        asked = asked.where(errands.c.job_id == job_id)
    row = (await tx.ask(asked)).mappings().one_or_none()
    if row is None:
        raise NotFound(f"there is no errand {errand_id[:80]}")
    return _errand(row)


def _errand(row: object) -> Errand:
    fields = dict(cast("dict[str, object]", row))
    ok = fields.pop("ok")
    return Errand(**fields, ok=None if ok is None else bool(ok))  # type: ignore[arg-type]  # the columns are the fields
