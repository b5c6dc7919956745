"""Declared maintenance that is not over."""

from collections.abc import Iterable

from sqlalchemy import RowMapping, select

from orchestrator.domain.errors import NotFound
from orchestrator.domain.fleet import Maintenance, Target
from orchestrator.domain.ids import SliceId
from orchestrator.domain.job import Slice
from orchestrator.domain.sharing import Window
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import maintenance


async def planned(tx: ReadTx, now_ms: int) -> tuple[Maintenance, ...]:
    """What is under way or to come, soonest first."""
    asked = select(maintenance).where(maintenance.c.until_ms > now_ms)
    found = await tx.ask(asked.order_by(maintenance.c.since_ms, maintenance.c.id))
    return tuple(_maintenance(row) for row in found.mappings())


async def by_id(tx: ReadTx, id: str) -> Maintenance:
    """Raises NotFound: none was declared under that id."""
    found = (await tx.ask(select(maintenance).where(maintenance.c.id == id))).mappings().one_or_none()
    if found is None:
        raise NotFound(f"no maintenance {id[:80]!r} is declared")
    return _maintenance(found)


def windows(declared: Iterable[Maintenance], known: Iterable[Slice]) -> dict[SliceId, tuple[Window, ...]]:
    """When each slice is out."""
    declared = tuple(declared)
    found = {
        one.id: tuple(Window(out.since_ms, out.until_ms) for out in declared if out.covers(one.id, one.pool))
        for one in (known if declared else ())
    }
    return {slice_id: out for slice_id, out in found.items() if out}


def _maintenance(row: RowMapping) -> Maintenance:
    return Maintenance(
        id=row["id"],
        target=Target(row["target"]),
        name=row["name"],
        since_ms=row["since_ms"],
        until_ms=row["until_ms"],
        reason=row["reason"],
        actor=row["actor"],
        at_ms=row["at_ms"],
    )
