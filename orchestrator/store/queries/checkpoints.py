"""The registry: every step that was ever committed, what was measured at it, and who went on from it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, select

from orchestrator.checkpoints.retention import Kept
from orchestrator.domain.errors import NotFound
from orchestrator.domain.ids import AttemptId, JobId
from orchestrator.domain.job import Job
from orchestrator.domain.lifecycle import TERMINAL
from orchestrator.store import rows
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import attempts, checkpoints, errands, jobs, points, restores

_JOBS_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class RestoredInto:
    """An attempt that went on from a step; of another job if that continues this one."""

    job_id: JobId
    attempt: int


@dataclass(frozen=True, slots=True)
class Registered:
    """A step of the registry."""

    job_id: JobId
    attempt: int
    attempt_id: AttemptId
    step: int
    path: str
    bytes: int | None
    save_ms: int | None
    blocked_ms: int | None
    at_ms: int
    state: str
    """committed, quarantined (it did not restore), deleting or deleted."""
    pinned: bool
    note: str
    unfenced: bool
    """The program committed it by itself: an attempt that was replaced may do that still."""
    deleted_at_ms: int | None
    values: dict[str, float]
    """What rank 0 reported at this very step."""
    restored_into: tuple[RestoredInto, ...]

    @property
    def ours(self) -> bool:
        """Whether it lies in the job's folder, written by our own code, and not where a program of the user's says."""
        return self.path == f"{self.attempt}/{self.step}"


async def registry(tx: ReadTx, job_id: JobId) -> tuple[Registered, ...]:
    """All of a job, newest first."""
    mine = checkpoints.c.job_id == job_id
    order = (attempts.c.number.desc(), checkpoints.c.step.desc())
    asked = select(checkpoints, attempts.c.number).join(attempts).where(mine).order_by(*order)
    values = await _values(tx, mine, await _series(tx, job_id))
    users = await _restored_into(tx, job_id)
    return tuple(
        Registered(
            job_id=job_id,
            attempt=row["number"],
            attempt_id=AttemptId(row["attempt_id"]),
            step=row["step"],
            path=row["path"],
            bytes=row["bytes"],
            save_ms=row["save_ms"],
            blocked_ms=row["blocked_ms"],
            at_ms=row["at_ms"],
            state=_state(row["state"], row["delete_asked_at_ms"], row["deleted_at_ms"]),
            pinned=bool(row["pinned"]),
            note=row["note"],
            unfenced=bool(row["unfenced"]),
            deleted_at_ms=row["deleted_at_ms"],
            values=values.get((row["attempt_id"], row["step"]), {}),
            restored_into=tuple(users.get(row["path"], ())),
        )
        for row in (await tx.ask(asked)).mappings()
    )


async def find(tx: ReadTx, job_id: JobId, step: int, attempt: int | None = None) -> Registered:
    """The newest attempt's commit of that step, or that attempt's.

    Raises:
        NotFound: it was never committed.
    """
    for one in await registry(tx, job_id):
        if one.step == step and attempt in (None, one.attempt):
            return one
    of = "" if attempt is None else f" in attempt {attempt}"
    raise NotFound(f"job {job_id} never committed step {step}{of}")


async def keepable(tx: ReadTx, owned: Iterable[Job]) -> dict[JobId, list[Kept]]:
    """The steps of these jobs on which retention decides: committed, and not being deleted."""
    by_id = {job.id: job for job in owned}
    standing = (
        checkpoints.c.job_id.in_(by_id)
        & (checkpoints.c.state == "committed")
        & checkpoints.c.delete_asked_at_ms.is_(None)
    )
    measured = {job.spec.checkpoint.keep_best.metric for job in by_id.values() if job.spec.checkpoint.keep_best}
    values = await _values(tx, standing, measured) if measured else {}
    needed = await _needed(tx)
    asked = select(checkpoints, attempts.c.number).join(attempts).where(standing)
    found: dict[JobId, list[Kept]] = {}
    for row in (await tx.ask(asked)).mappings():
        if row["path"] != f"{row['number']}/{row['step']}":
            continue  # a program of the user's reported it, and deletes it as it likes
        kept = Kept(
            row["number"],
            row["step"],
            row["at_ms"],
            values.get((row["attempt_id"], row["step"]), {}),
            bool(row["pinned"]),
            f"{row['job_id']}/{row['number']}/{row['step']}" in needed,
        )
        found.setdefault(JobId(row["job_id"]), []).append(kept)
    return found


async def retained_jobs(tx: ReadTx) -> tuple[Job, ...]:
    """Jobs that have committed steps which are not being deleted."""
    standing = (checkpoints.c.state == "committed") & checkpoints.c.delete_asked_at_ms.is_(None)
    asked = select(jobs).where(jobs.c.id.in_(select(checkpoints.c.job_id).where(standing).distinct()))
    return tuple(rows.job_of(row) for row in (await tx.ask(asked)).mappings())


async def half_deleted(tx: ReadTx, asked_before_ms: int, most: int) -> dict[JobId, list[str]]:
    """Paths of steps whose deletion was asked for before that moment and failed."""
    open_ones = errands.c.done_at_ms.is_(None) & (errands.c.kind == "delete")
    being_done = select(errands.c.id).where(
        open_ones, errands.c.job_id == checkpoints.c.job_id, errands.c.path == checkpoints.c.path
    )
    asked = (
        select(checkpoints.c.job_id, checkpoints.c.path)
        .where(checkpoints.c.delete_asked_at_ms <= asked_before_ms, checkpoints.c.deleted_at_ms.is_(None))
        .where(~being_done.exists())
        .limit(most)
    )
    found: dict[JobId, list[str]] = {}
    for row in await tx.ask(asked):
        found.setdefault(JobId(row.job_id), []).append(row.path)
    return found


async def with_old_attempts(tx: ReadTx, now_ms: int, age_ms: int) -> tuple[Job, ...]:
    """Some of the jobs of which an attempt ended so long ago, and whose orphans nobody has asked for since."""
    since = (
        (errands.c.job_id == attempts.c.job_id)
        & (errands.c.kind == "orphans")
        & (errands.c.asked_at_ms >= attempts.c.ended_at_ms + age_ms)
    )
    old = select(attempts.c.job_id).where(
        attempts.c.ended_at_ms <= now_ms - age_ms, ~select(errands.c.id).where(since).exists()
    )
    asked = select(jobs).where(jobs.c.id.in_(old)).limit(_JOBS_AT_ONCE)
    return tuple(rows.job_of(row) for row in (await tx.ask(asked)).mappings())


async def _needed(tx: ReadTx) -> frozenset[str]:
    """Steps from which an open job continues that has committed none of its own."""
    waiting = select(jobs).where(jobs.c.state.not_in(sorted(TERMINAL)), jobs.c.committed_step.is_(None))
    found = [rows.job_of(row) for row in (await tx.ask(waiting)).mappings()]
    return frozenset(job.spec.checkpoint.continue_from for job in found if job.spec.checkpoint.continue_from)


async def _values(
    tx: ReadTx, which: ColumnElement[bool], series: Iterable[str]
) -> dict[tuple[str, int], dict[str, float]]:
    # With the series named each point is one look-up by its whole key; without, every point of the attempt is read for
    # each of its checkpoints: minutes for 10,000.
    same = (points.c.attempt_id == checkpoints.c.attempt_id) & (points.c.step == checkpoints.c.step)
    asked = select(points).join(checkpoints, same).where(which, points.c.rank == 0, points.c.series.in_(list(series)))
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in (await tx.ask(asked)).mappings():
        value = float(row["not_finite"] if row["value"] is None else row["value"])
        found.setdefault((row["attempt_id"], row["step"]), {})[row["series"]] = value
    return found


async def _series(tx: ReadTx, job_id: JobId) -> list[str]:
    asked = select(points.c.series).where(points.c.job_id == job_id).distinct()
    return [row.series for row in await tx.ask(asked)]


async def _restored_into(tx: ReadTx, job_id: JobId) -> dict[str, list[RestoredInto]]:
    asked = (
        select(restores, attempts.c.number)
        .join(attempts, attempts.c.id == restores.c.attempt_id)
        .where(restores.c.source_job_id == job_id)
        .order_by(restores.c.at_ms)
    )
    found: dict[str, list[RestoredInto]] = {}
    for row in (await tx.ask(asked)).mappings():
        found.setdefault(row["path"], []).append(RestoredInto(JobId(row["job_id"]), row["number"]))
    return found


def _state(state: str, delete_asked_at_ms: int | None, deleted_at_ms: int | None) -> str:
    if deleted_at_ms is not None:
        return "deleted"
    return state if delete_asked_at_ms is None else "deleting"
