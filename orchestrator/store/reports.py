"""Spool records to rows: points, phases, checkpoints, and the attempt's one line of progress."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import func, select, update

from orchestrator.domain.ids import AttemptId
from orchestrator.domain.job import Attempt, Event, Progress
from orchestrator.store import rows
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.queries import jobs as job_queries
from orchestrator.store.schema import attempts, checkpoints, phases, points, progress, restores
from orchestrator.store.schema import events as events_table
from orchestrator.store.spool import CheckpointReport, Metrics, Notice, Phase, Record, Step

MAX_NOTICES: Final = 200
"""Of one attempt."""
_COMMIT_PATH: Final = re.compile(r"(?P<attempt>[0-9]{1,9})/(?P<step>[0-9]{1,19})")
"""As the ranks' library names a commit: the number of the attempt that made it, and its step."""


@dataclass(frozen=True, slots=True)
class Told:
    """Some of one rank's records, in the order of its spool."""

    attempt: Attempt
    rank: int
    records: Sequence[Record]


async def record(tx: WriteTx, told: Iterable[Told]) -> None:
    """Keep the records of any number of ranks and attempts."""
    spoken = [one for one in told if one.records]
    if not spoken:
        return
    each = [(one, record) for one in spoken for record in one.records]
    await tx.put(
        points, [row for of, r in each if isinstance(r, Metrics) for row in _point_rows(of.attempt, of.rank, r)]
    )
    await tx.put(phases, [_phase_row(of.attempt, of.rank, r) for of, r in each if isinstance(r, Phase)])
    for of, report in each:
        if isinstance(report, CheckpointReport):
            await _record_checkpoint(tx, of.attempt, report)
    for one in spoken:
        await _record_notices(tx, one.attempt, one.rank, [said for said in one.records if isinstance(said, Notice)])
    after = await job_queries.progress_of(tx, [one.attempt.id for one in spoken])
    for one in spoken:
        now = after.get(one.attempt.id, Progress(one.attempt.id))
        for record in one.records:
            now = progressed(now, one.rank, record)
        after[one.attempt.id] = replace(now, last_report_at_ms=_later(now, one.records))
    await tx.put(progress, [rows.progress_row(now) for now in after.values()])


def progressed(before: Progress, rank: int, record: Record) -> Progress:
    """The progress after one more record. Phase and steps are rank 0's; a checkpoint is whoever's reports it."""
    match record:
        case CheckpointReport(event="committed"):
            if record.step < (before.committed_step or 0):
                return before
            made_at_ms = record.at_ms if record.step_at_ms is None else record.step_at_ms
            return replace(before, committed_step=record.step, committed_at_ms=made_at_ms)
        case CheckpointReport(event="restored" | "fresh"):
            return replace(before, resumed_step=record.step)
        case Phase() if rank == 0:
            return replace(before, phase=record.phase)
        case Step() if rank == 0:
            total = before.total_steps if record.total_steps is None else record.total_steps
            return replace(_stepped(before, record), step=record.step, total_steps=total)
        case Metrics() if rank == 0:
            return replace(_stepped(before, record), step=max(record.step, before.step or 0))
    return before


async def _record_notices(tx: WriteTx, attempt: Attempt, rank: int, notices: Sequence[Notice]) -> None:
    """Into the job's history as `program.<kind>`. An attempt has room for so many: history is kept, and read by all."""
    if not notices:
        return
    its = (events_table.c.job_id == attempt.job_id) & (events_table.c.attempt_id == attempt.id)
    told = select(func.count()).select_from(events_table).where(its, events_table.c.kind.startswith("program."))
    count = (await tx.ask(told)).scalar_one()
    room = max(0, MAX_NOTICES - count)
    new = [
        Event(
            f"program.{one.kind}", one.at_ms, one.message, attempt.job_id, attempt.id,
            data=(("rank", rank), ("step", one.step)),
        )
        for one in notices[:room]
    ]  # fmt: skip
    if count <= MAX_NOTICES < count + len(notices):
        says = f"the program has told of {MAX_NOTICES} things; of what follows in this attempt only its log tells"
        new.append(Event("program.too_much", notices[room].at_ms, says, attempt.job_id, attempt.id))
    await events.append(tx, new)


def _stepped(before: Progress, record: Step | Metrics) -> Progress:
    if before.first_step_at_ms is None and record.step > (before.resumed_step or 0):
        return replace(before, first_step_at_ms=record.at_ms)
    return before


def _later(before: Progress, records: Sequence[Record]) -> int:
    return max(before.last_report_at_ms or 0, *(record.at_ms for record in records))


def _point_rows(attempt: Attempt, rank: int, metrics: Metrics) -> list[dict[str, Any]]:
    key = {"attempt_id": attempt.id, "rank": rank, "step": metrics.step}
    rest = {"job_id": attempt.job_id, "at_ms": metrics.at_ms}
    return [{**key, "series": name, **rest, **_value(value)} for name, value in metrics.values.items()]


def _value(value: float) -> dict[str, Any]:
    """Finite numbers as they are, others by name: SQLite would keep a NaN as NULL."""
    if value != value:
        return {"value": None, "not_finite": "NaN"}
    if value in (float("inf"), float("-inf")):
        return {"value": None, "not_finite": "Infinity" if value > 0 else "-Infinity"}
    return {"value": value, "not_finite": None}


def _phase_row(attempt: Attempt, rank: int, phase: Phase) -> dict[str, Any]:
    return {
        "attempt_id": attempt.id,
        "rank": rank,
        "position": phase.position,
        "phase": phase.phase,
        "at_ms": phase.at_ms,
    }


async def _record_checkpoint(tx: WriteTx, attempt: Attempt, report: CheckpointReport) -> None:
    if report.event == "committed":
        await _add_commit(tx, attempt, report)
    elif report.event == "restored":
        if report.source_job_id is None:
            await _register_restored(tx, attempt, report)
        await tx.put(restores, [_restore_row(attempt, report)])
    elif report.event == "quarantined":
        damaged = (checkpoints.c.job_id == attempt.job_id) & (checkpoints.c.path == report.path)
        await tx.tell(update(checkpoints).where(damaged).values(state="quarantined"))
    data = (("step", report.step), ("path", report.path or None))
    says = _says(attempt, report)
    await events.append(
        tx, [Event(f"checkpoint.{report.event}", report.at_ms, says, attempt.job_id, attempt.id, data=data)]
    )


async def _add_commit(tx: WriteTx, attempt: Attempt, report: CheckpointReport) -> None:
    row = _checkpoint_row(attempt, attempt.id, report)
    await tx.add_new(checkpoints, [row])
    # A successor that restored the step may have registered it before this report came, and knew less of it.
    same = (checkpoints.c.attempt_id == attempt.id) & (checkpoints.c.step == report.step)
    measured = {name: row[name] for name in ("bytes", "step_at_ms", "save_ms", "blocked_ms", "at_ms")}
    await tx.tell(update(checkpoints).where(same, checkpoints.c.save_ms.is_(None)).values(measured))


async def _register_restored(tx: WriteTx, attempt: Attempt, report: CheckpointReport) -> None:
    """What was restored had been committed, even if the report of that is lost: its attempt is credited with it."""
    named = _COMMIT_PATH.fullmatch(report.path)
    if named is None or int(named["step"]) != report.step:
        return
    numbered = (attempts.c.job_id == attempt.job_id) & (attempts.c.number == int(named["attempt"]))
    owner: str | None = (await tx.ask(select(attempts.c.id).where(numbered))).scalar_one_or_none()
    if owner is None:
        return
    by_then = (points.c.attempt_id == owner) & (points.c.step <= report.step)
    made_at_ms = (await tx.ask(select(func.max(points.c.at_ms)).where(by_then))).scalar_one()
    row = _checkpoint_row(attempt, AttemptId(owner), replace(report, step_at_ms=made_at_ms))
    await tx.add_new(checkpoints, [row])
    known = (await job_queries.progress_of(tx, [AttemptId(owner)])).get(AttemptId(owner), Progress(AttemptId(owner)))
    credited = replace(known, committed_step=max(report.step, known.committed_step or 0))
    await tx.put(progress, [rows.progress_row(credited)])


def _checkpoint_row(attempt: Attempt, owner: AttemptId, report: CheckpointReport) -> dict[str, Any]:
    return {
        "attempt_id": owner,
        "step": report.step,
        "job_id": attempt.job_id,
        "path": report.path,
        "bytes": report.bytes,
        "step_at_ms": report.step_at_ms,
        "save_ms": report.save_ms,
        "blocked_ms": report.blocked_ms,
        "at_ms": report.at_ms,
        "state": "committed",
        "unfenced": int(report.unfenced),
    }


def _restore_row(attempt: Attempt, report: CheckpointReport) -> dict[str, Any]:
    return {
        "attempt_id": attempt.id,
        "job_id": attempt.job_id,
        "source_job_id": report.source_job_id or attempt.job_id,
        "path": report.path,
        "at_ms": report.at_ms,
    }


def _says(attempt: Attempt, report: CheckpointReport) -> str:
    what = f": {report.message}" if report.message else ""
    match report.event:
        case "committed":
            return f"step {report.step} is committed" + (" by the program itself, unfenced" if report.unfenced else "")
        case "restored":
            of = f" of job {report.source_job_id}" if report.source_job_id else ""
            return f"attempt {attempt.number} goes on from step {report.step}{of}"
        case "save_failed":
            return f"step {report.step} was not saved{what}; training goes on"
        case "notice":
            return f"attempt {attempt.number} leaves at step {report.step} on a notice{what}"
        case "trouble":
            return report.message or "the checkpoints' storage is in trouble"
        case "quarantined":
            return f"the checkpoint of step {report.step} is damaged and set aside{what}"
    return f"attempt {attempt.number} begins at step 0"
