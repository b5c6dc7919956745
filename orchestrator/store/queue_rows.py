"""Rows of what is known of the queue, to domain records and back."""

from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy import RowMapping

from orchestrator.domain.ids import ClusterId, JobId, PoolName, SliceId
from orchestrator.domain.outlook import Blocker, Outlook, StartEstimate, Way
from orchestrator.domain.sharing import PoolLimits, PoolWish
from orchestrator.domain.topology import SliceShape

_BLOCKERS: Final = TypeAdapter(tuple[Blocker, ...])
_START: Final = TypeAdapter(StartEstimate)
_LET_GO: Final = TypeAdapter(tuple[SliceId, ...])
_WAYS: Final = TypeAdapter(tuple[Way, ...])


def outlook_row(outlook: Outlook) -> dict[str, Any]:
    return {
        "job_id": outlook.job_id,
        "at_ms": outlook.at_ms,
        "place": outlook.place,
        "of": outlook.of,
        "blockers": _BLOCKERS.dump_json(outlook.blockers).decode(),
        "start": None if outlook.start is None else _START.dump_json(outlook.start).decode(),
        "not_before_ms": outlook.not_before_ms,
        "ways": _WAYS.dump_json(outlook.ways).decode(),
        "ways_at_ms": outlook.ways_at_ms,
    }


def outlook_of(row: RowMapping) -> Outlook:
    return Outlook(
        job_id=JobId(row["job_id"]),
        at_ms=row["at_ms"],
        place=row["place"],
        of=row["of"],
        blockers=_BLOCKERS.validate_json(row["blockers"]),
        start=None if row["start"] is None else _START.validate_json(row["start"]),
        not_before_ms=row["not_before_ms"],
        ways=_WAYS.validate_json(row["ways"]),
        ways_at_ms=row["ways_at_ms"],
    )


def limits_row(limits: PoolLimits) -> dict[str, Any]:
    """All but what is wished."""
    return {
        "cluster_id": limits.cluster_id,
        "pool": limits.pool,
        "shape": str(limits.shape),
        "capacity": limits.capacity,
        "least": limits.least,
        "most": limits.most,
    }


def limits_of(row: RowMapping) -> PoolLimits:
    shape = SliceShape.parse(row["shape"])
    pool = PoolName(row["pool"])
    return PoolLimits(ClusterId(row["cluster_id"]), pool, shape, row["capacity"], row["least"], row["most"])


def wish_values(wish: PoolWish) -> dict[str, Any]:
    let_go = _LET_GO.dump_json(wish.let_go).decode()
    return {"ask": wish.ask, "let_go": let_go, "wished_at_ms": wish.at_ms}


def wish_of(row: RowMapping) -> PoolWish:
    return PoolWish(row["ask"], _LET_GO.validate_json(row["let_go"]), row["wished_at_ms"])
