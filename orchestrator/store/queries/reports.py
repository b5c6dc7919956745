"""What attempts reported besides numbers: phases, checkpoints, and how far their streams are stored."""

from dataclasses import dataclass

from sqlalchemy import func, select

from orchestrator.domain.ids import AttemptId, JobId
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import attempts, checkpoints, events, phases, streams


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A committed step, or one that turned out not to restore."""

    attempt: int
    attempt_id: AttemptId
    step: int
    path: str
    bytes: int | None
    step_at_ms: int | None
    """When the step that it holds was done."""
    save_ms: int | None
    blocked_ms: int | None
    """How long the training loop stood still for it."""
    at_ms: int
    state: str


@dataclass(frozen=True, slots=True)
class PhaseMark:
    """A rank entered a phase."""

    attempt_id: AttemptId
    rank: int
    phase: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Saves:
    """A job's saves. Most of the time that they take the loop goes on; `blocked_ms` is when it did not."""

    committed: int
    failed: int
    save_ms: int
    blocked_ms: int


async def saves_of(tx: ReadTx, job_id: JobId) -> Saves:
    """Committed saves with their measured times, and how many failed."""
    mine = checkpoints.c.job_id == job_id
    sums = select(func.count(), func.sum(checkpoints.c.save_ms), func.sum(checkpoints.c.blocked_ms)).where(mine)
    count, save_ms, blocked_ms = tuple((await tx.ask(sums)).one())
    failed = select(func.count()).where(events.c.job_id == job_id, events.c.kind == "checkpoint.save_failed")
    return Saves(count, (await tx.ask(failed)).scalar_one(), int(save_ms or 0), int(blocked_ms or 0))


async def checkpoints_of(tx: ReadTx, job_id: JobId) -> tuple[Checkpoint, ...]:
    """All of a job, by step, then by attempt."""
    asked = (
        select(checkpoints, attempts.c.number)
        .join(attempts, attempts.c.id == checkpoints.c.attempt_id)
        .where(checkpoints.c.job_id == job_id)
        .order_by(checkpoints.c.step, attempts.c.number)
    )
    return tuple(
        Checkpoint(
            row["number"],
            AttemptId(row["attempt_id"]),
            row["step"],
            row["path"],
            row["bytes"],
            row["step_at_ms"],
            row["save_ms"],
            row["blocked_ms"],
            row["at_ms"],
            row["state"],
        )
        for row in (await tx.ask(asked)).mappings()
    )


async def phases_of(tx: ReadTx, job_id: JobId, rank: int = 0) -> tuple[PhaseMark, ...]:
    """What one rank of each attempt went through, in the order of its spool."""
    asked = (
        select(phases)
        .join(attempts, attempts.c.id == phases.c.attempt_id)
        .where(attempts.c.job_id == job_id, phases.c.rank == rank)
        .order_by(attempts.c.number, phases.c.position)
    )
    found = (await tx.ask(asked)).mappings()
    return tuple(PhaseMark(AttemptId(r["attempt_id"]), r["rank"], r["phase"], r["at_ms"]) for r in found)


async def stored_offset(tx: ReadTx, attempt_id: AttemptId, rank: int, stream: str) -> int:
    """How many bytes of the stream are stored."""
    asked = select(streams.c.offset).where(
        streams.c.attempt_id == attempt_id, streams.c.rank == rank, streams.c.stream == stream
    )
    return int((await tx.ask(asked)).scalar_one_or_none() or 0)
