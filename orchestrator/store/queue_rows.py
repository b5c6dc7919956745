"""Rows of what is known of the queue, to domain records and back."""

from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy import RowMapping

from orchestrator.domain.ids import JobId
from orchestrator.domain.outlook import Blocker, Outlook, StartEstimate, Way

_BLOCKERS: Final = TypeAdapter(tuple[Blocker, ...])
_START: Final = TypeAdapter(StartEstimate)
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
