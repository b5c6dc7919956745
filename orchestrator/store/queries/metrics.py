"""Reported numbers: raw as each attempt and rank gave them, or joined over the job's attempts."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Exists, RowMapping, Select, func, select

from orchestrator.domain.ids import JobId
from orchestrator.domain.job import Job
from orchestrator.store import rows
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import attempts, jobs, points, progress


@dataclass(frozen=True, slots=True)
class Point:
    series: str
    attempt: int
    """The attempt's number."""
    rank: int
    step: int
    value: float
    at_ms: int


async def raw_points(
    tx: ReadTx, job_id: JobId, series: Iterable[str] = (), attempt: int | None = None
) -> tuple[Point, ...]:
    """All points by series, step, attempt and rank; without `series` those of every series."""
    asked = _chosen(job_id, series, attempt)
    by_step = asked.order_by(points.c.series, points.c.step, attempts.c.number, points.c.rank)
    return tuple(_point(row) for row in (await tx.ask(by_step)).mappings())


async def last_points(
    tx: ReadTx, job_id: JobId, count: int, series: Iterable[str] = (), attempt: int | None = None
) -> tuple[Point, ...]:
    """The last `count` points of each series: of the joined view, or of all that one attempt reported."""
    asked = _chosen(job_id, series, attempt)
    if attempt is None:
        best = func.row_number().over(
            partition_by=(points.c.series, points.c.step), order_by=(attempts.c.number.desc(), points.c.rank)
        )
        ranked = asked.where(~_undone(job_id)).add_columns(best.label("place")).subquery()
        asked = select(ranked).where(ranked.c.place == 1)
    chosen = asked.subquery()
    from_end = func.row_number().over(
        partition_by=chosen.c.series, order_by=(chosen.c.step.desc(), chosen.c.number.desc(), chosen.c.rank.desc())
    )
    counted = select(chosen, from_end.label("from_end")).subquery()
    by_step = (
        select(counted)
        .where(counted.c.from_end <= count)
        .order_by(counted.c.series, counted.c.step, counted.c.number, counted.c.rank)
    )
    return tuple(_point(row) for row in (await tx.ask(by_step)).mappings())


def _chosen(job_id: JobId, series: Iterable[str], attempt: int | None) -> Select[Any]:
    asked = (
        select(points, attempts.c.number)
        .join(attempts, attempts.c.id == points.c.attempt_id)
        .where(points.c.job_id == job_id)
    )
    if wanted := tuple(series):
        asked = asked.where(points.c.series.in_(wanted))
    return asked if attempt is None else asked.where(attempts.c.number == attempt)


def _undone(job_id: JobId) -> Exists:
    """That a newer attempt resumed before the point's step: `joined` says the same in Python."""
    later = attempts.alias()
    return (
        select(later.c.id)
        .join(progress, progress.c.attempt_id == later.c.id)
        .where(
            later.c.job_id == job_id,
            later.c.number > attempts.c.number,
            progress.c.resumed_step < points.c.step,
        )
        .correlate(attempts, points)
        .exists()
    )


def _point(row: RowMapping) -> Point:
    value = float(row["not_finite"] if row["value"] is None else row["value"])
    return Point(row["series"], row["number"], row["rank"], row["step"], value, row["at_ms"])


async def names(tx: ReadTx, job_id: JobId) -> tuple[str, ...]:
    """Of all series that the job has."""
    asked = select(points.c.series).where(points.c.job_id == job_id).distinct().order_by(points.c.series)
    return tuple((await tx.ask(asked)).scalars())


async def resumed_steps(tx: ReadTx, job_id: JobId) -> dict[int, int]:
    """For each attempt number the step that it began from, if it has said so."""
    asked = (
        select(attempts.c.number, progress.c.resumed_step)
        .join(progress, progress.c.attempt_id == attempts.c.id)
        .where(attempts.c.job_id == job_id, progress.c.resumed_step.is_not(None))
    )
    return {row.number: row.resumed_step for row in await tx.ask(asked)}


async def curve(
    tx: ReadTx, job: Job, series: Iterable[str] = (), seen_by: Collection[str] | None = None
) -> tuple[Point, ...]:
    """A job's joined points, after those of the job that it continues, up to the step from which it does.

    Points of other jobs have the attempt 0. A chain is followed to its beginning, or to the first job that is not of
    the projects `seen_by` (None: all).
    """
    wanted = tuple(series)
    points = joined(await raw_points(tx, job.id, wanted), await resumed_steps(tx, job.id))
    seen = {job.id}
    origin = job.spec.checkpoint.continue_from
    while origin is not None:
        source, attempt, step = origin.split("/")
        row = (await tx.ask(select(jobs).where(jobs.c.id == source))).mappings().one_or_none()
        if row is None or source in seen or (seen_by is not None and row["project"] not in seen_by):
            break
        seen.add(JobId(source))
        before = rows.job_of(row)
        raw = [point for point in await raw_points(tx, before.id, wanted) if point.attempt <= int(attempt)]
        resumed = {number: at for number, at in (await resumed_steps(tx, before.id)).items() if number <= int(attempt)}
        older = [replace(one, attempt=0) for one in joined(raw, resumed) if one.step <= int(step)]
        known = {(point.series, point.step) for point in points}
        points += tuple(one for one in older if (one.series, one.step) not in known)
        origin = before.spec.checkpoint.continue_from
    return tuple(sorted(points, key=lambda point: (point.series, point.step)))


def joined(raw: Iterable[Point], resumed: Mapping[int, int]) -> tuple[Point, ...]:
    """One point per series and step, as if the job had run once: what a restart undid is gone.

    The newest attempt that has a step wins, and of its ranks the lowest. Steps of older attempts beyond the step from
    which a newer one resumed were undone by it, whether or not it has reached them again.
    """
    best: dict[tuple[str, int], Point] = {}
    for point in raw:
        undone = any(number > point.attempt and point.step > step for number, step in resumed.items())
        rival = best.get((point.series, point.step))
        if not undone and (rival is None or (point.attempt, -point.rank) > (rival.attempt, -rival.rank)):
            best[point.series, point.step] = point
    return tuple(sorted(best.values(), key=lambda point: (point.series, point.step)))
