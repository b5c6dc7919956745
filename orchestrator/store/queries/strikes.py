"""What speaks for and against each slice: how the attempts on it ended lately."""

from typing import Final

from pydantic import TypeAdapter
from sqlalchemy import func, select

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import SliceId
from orchestrator.domain.job import Attempt
from orchestrator.incidents.strikes import LONGEST_MS, STRIKES, Strike, Suspicion, suspicions
from orchestrator.store import rows
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import attempts

_AT_MOST: Final = 500
"""The newest ends that are looked at."""
_SLICES: Final = TypeAdapter(tuple[SliceId, ...])


async def suspects(tx: ReadTx, now_ms: int) -> dict[SliceId, Suspicion]:
    """The slices that are suspect now."""
    lately = attempts.c.ended_at_ms > now_ms - LONGEST_MS
    struck = attempts.c.reason.in_([reason.value for reason in STRIKES])
    asked = select(attempts).where(lately, struck).order_by(attempts.c.ended_at_ms.desc()).limit(_AT_MOST)
    ended = [rows.attempt_of(row) for row in (await tx.ask(asked)).mappings()]
    strikes = [strike for attempt in ended if (strike := _strike(attempt)) is not None]
    if not strikes:
        return {}
    well = (
        select(attempts.c.slices, func.max(attempts.c.ended_at_ms).label("at_ms"))
        .where(attempts.c.ended_at_ms > min(strike.at_ms for strike in strikes))
        .where(attempts.c.reason == Reason.COMPLETED.value)
        .group_by(attempts.c.slices)
    )
    ended_well: dict[SliceId, int] = {}
    for row in await tx.ask(well):
        for slice_id in _SLICES.validate_json(row.slices):
            ended_well[slice_id] = max(row.at_ms, ended_well.get(slice_id, 0))
    return suspicions(strikes, ended_well, now_ms)


def _strike(attempt: Attempt) -> Strike | None:
    """Whom the attempt's end speaks against: the slice that the verdict names, or the only one that it had."""
    named = attempt.cause.slice_id if attempt.cause is not None else None
    if named is None and len(attempt.slices) == 1:
        named = attempt.slices[0]
    if named is None or attempt.reason is None or attempt.ended_at_ms is None:
        return None
    return Strike(SliceId(named), attempt.reason, attempt.ended_at_ms)
