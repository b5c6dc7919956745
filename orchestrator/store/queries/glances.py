"""What a list shows of each job besides its row: how far it is, and the outline of one of its curves.

A curve may have a million points and a list fifty jobs: the outline asks for a few dozen steps by their places in an
index, and reads nothing in between.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import BigInteger, func, literal, select, union_all

from orchestrator.domain.ids import AttemptId, JobId
from orchestrator.domain.job import Attempt, Progress
from orchestrator.store import rows
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import jobs as job_queries
from orchestrator.store.queries.jobs import JobFilter
from orchestrator.store.schema import attempts, jobs, points

_NEWEST = 8
"""Attempts that an outline is drawn from: a job that was restarted a hundred times shows its last stretch."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The steps of one attempt that no later one undid: after `after`, up to `until`."""

    attempt_id: AttemptId
    after: int
    until: int


@dataclass(frozen=True, slots=True)
class Glance:
    job_id: JobId
    attempt: Attempt | None
    """The newest."""
    progress: Progress | None
    """Its own."""
    outline: tuple[tuple[int, float], ...]
    """(step, value), by step."""


async def glances(
    tx: ReadTx, ids: Collection[str], series: str, points_each: int, seen_by: Collection[str] | None
) -> tuple[Glance, ...]:
    """Of those of the jobs that are of the projects `seen_by` (None: all)."""
    wanted = JobFilter(ids=tuple(ids), seen_by=seen_by)
    known = [JobId(id) for id in (await tx.ask(select(jobs.c.id).where(*wanted.conditions))).scalars()]
    asked = select(attempts).where(attempts.c.job_id.in_(known)).order_by(attempts.c.number)
    of_job: dict[str, list[Attempt]] = {}
    for row in (await tx.ask(asked)).mappings():
        of_job.setdefault(row["job_id"], []).append(rows.attempt_of(row))
    kept = {id: found[-_NEWEST:] for id, found in of_job.items()}
    progress = await job_queries.progress_of(tx, [one.id for found in kept.values() for one in found])
    return tuple([await _glance(tx, id, kept.get(id, ()), progress, series, points_each) for id in known])


async def _glance(
    tx: ReadTx,
    id: JobId,
    found: Sequence[Attempt],
    progress: dict[AttemptId, Progress],
    series: str,
    points_each: int,
) -> Glance:
    if not found:
        return Glance(id, None, None, ())
    newest = found[-1]
    reported = [progress.get(one.id, Progress(one.id)) for one in found]
    outline = await _outline(tx, stretches(reported), series, points_each)
    return Glance(id, newest, progress.get(newest.id), outline)


def stretches(reported: Sequence[Progress]) -> tuple[Stretch, ...]:
    """Which attempt made which steps of the joined curve; attempts oldest first."""
    found: list[Stretch] = []
    for one in reported:
        begun = one.resumed_step or -1  # a program that begins anew may report a step 0
        if one.resumed_step is not None:
            found = [replace(before, until=min(before.until, begun)) for before in found]
        if one.step is not None:
            found.append(Stretch(one.attempt_id, begun, one.step))
    return tuple(one for one in found if one.until > one.after)


async def _outline(tx: ReadTx, made: Sequence[Stretch], series: str, points_each: int) -> tuple[tuple[int, float], ...]:
    if not made:
        return ()
    first, last = made[0].after + 1, made[-1].until
    targets = sorted({first + (last - first) * n // max(1, points_each - 1) for n in range(points_each)})
    found: list[tuple[int, float]] = []
    for one in made:
        mine = [target for target in targets if one.after < target <= one.until]
        if mine:
            found += await _values_near(tx, one, series, mine)
    return tuple(found)


async def _values_near(tx: ReadTx, within: Stretch, series: str, targets: Sequence[int]) -> list[tuple[int, float]]:
    """Rank 0's finite value at the first step from each target on."""
    # SQLite cannot name the columns of a VALUES list.
    wanted = union_all(*(select(literal(target, BigInteger).label("step")) for target in targets)).subquery("wanted")
    one = points.alias()
    mine = (one.c.attempt_id == within.attempt_id, one.c.rank == 0, one.c.series == series)
    nearest = select(func.min(one.c.step)).where(*mine, one.c.step >= wanted.c.step).scalar_subquery()
    at = select(nearest.label("step")).select_from(wanted)
    asked = (
        select(points.c.step, points.c.value)
        .where(
            points.c.attempt_id == within.attempt_id,
            points.c.rank == 0,
            points.c.series == series,
            points.c.step.in_(at),
            points.c.step <= within.until,
            points.c.value.is_not(None),
        )
        .order_by(points.c.step)
    )
    return [(row.step, row.value) for row in await tx.ask(asked)]
