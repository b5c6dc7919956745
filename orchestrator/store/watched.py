"""Take in what clusters saw in watched folders: commits of programs that know nothing of us."""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import select

from orchestrator.domain.job import Attempt
from orchestrator.protocol import WatchedCommit
from orchestrator.store import reports
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import checkpoints, jobs
from orchestrator.store.spool import CheckpointReport

_MAX_STEP: Final = 2**63 - 1
_MAX_ADDRESS: Final = 4096


async def take_in(tx: WriteTx, attempt: Attempt, seen: Iterable[WatchedCommit]) -> None:
    """Register those that are new to the job, for the attempt under which they appeared; a repeat changes nothing.

    What lay there before the job began is somebody else's.
    """
    asked = select(checkpoints.c.path).where(checkpoints.c.job_id == attempt.job_id)
    known = {row.path for row in await tx.ask(asked)}
    began = (await tx.ask(select(jobs.c.started_at_ms).where(jobs.c.id == attempt.job_id))).scalar_one() or 0
    new = [one for one in seen if one.path not in known and one.at_ms >= began and _sane(one)]
    records = [
        CheckpointReport(
            at_ms=one.at_ms,
            event="committed",
            step=one.step,
            path=one.path,
            bytes=one.size_bytes,
            step_at_ms=one.at_ms,
            save_ms=None,
            blocked_ms=None,
            unfenced=True,
        )
        for one in sorted(new, key=lambda one: one.step)
    ]
    await reports.record(tx, [reports.Told(attempt, 0, records)])


def _sane(one: WatchedCommit) -> bool:
    numbers = (one.step, one.size_bytes, one.at_ms)
    return all(0 <= number <= _MAX_STEP for number in numbers) and 1 <= len(one.path) <= _MAX_ADDRESS
