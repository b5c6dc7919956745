"""Jobs and their attempts."""

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, func, or_, select

from orchestrator.domain.errors import NotFound
from orchestrator.domain.ids import ArrayId, AttemptId, JobId
from orchestrator.domain.job import Attempt, Job, Progress, RankStarted
from orchestrator.domain.lifecycle import TERMINAL, JobState
from orchestrator.store import rows
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import attempts, jobs, progress, ranks

_RECENT: Final = 200
"""Among the names of so many jobs one is looked for that may have been meant."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a list holds; None is any."""

    states: Collection[JobState] | None = None
    name: str | None = None
    project: str | None = None
    owner: str | None = None
    array: str | None = None
    ids: tuple[str, ...] | None = None
    seen_by: Collection[str] | None = None
    """The projects that the caller may see; None: all."""
    search: str | None = None
    """A part of the id, the name, the project or the owner, in capitals or not."""

    @property
    def conditions(self) -> tuple[ColumnElement[bool], ...]:
        asked: list[tuple[ColumnElement[Any], str | None]] = [
            (jobs.c.name, self.name),
            (jobs.c.project, self.project),
            (jobs.c.owner, self.owner),
            (jobs.c.array_id, self.array),
        ]
        found = [column == value for column, value in asked if value is not None]
        if self.states is not None:
            found.append(jobs.c.state.in_([state.value for state in self.states]))
        if self.ids is not None:
            found.append(jobs.c.id.in_(self.ids))
        if self.search is not None:
            places = (jobs.c.id, jobs.c.name, jobs.c.project, jobs.c.owner)
            found.append(or_(*(place.icontains(self.search, autoescape=True) for place in places)))
        if self.seen_by is not None:
            found.append(jobs.c.project.in_(self.seen_by))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class JobPage:
    jobs: tuple[Job, ...]
    next_after: int | None
    """Where the next page begins; None at the end. A place in the order of submission: new jobs do not shift it."""


async def by_id(tx: ReadTx, job_id: JobId) -> Job:
    """The job of that id.

    Raises:
        NotFound: there is none.
    """
    found = (await tx.ask(select(jobs).where(jobs.c.id == job_id))).mappings().one_or_none()
    if found is None:
        raise NotFound(f"there is no job {job_id}")
    return rows.job_of(found)


async def find(tx: ReadTx, id_or_name: str, seen_by: Collection[str] | None = None) -> Job:
    """The job of that id, or else the newest one of that name, among those of the projects `seen_by` (None: all).

    Raises:
        NotFound: there is neither.
    """
    seen = JobFilter(seen_by=seen_by).conditions
    one = (await tx.ask(select(jobs).where(jobs.c.id == id_or_name, *seen))).mappings().one_or_none()
    if one is not None:
        return rows.job_of(one)
    newest = select(jobs).where(jobs.c.name == id_or_name, *seen).order_by(jobs.c.row_id.desc()).limit(1)
    named = (await tx.ask(newest)).mappings().one_or_none()
    if named is None:
        raise NotFound(f"there is no job with the id or name {id_or_name[:80]!r}{await _meant(tx, id_or_name, seen)}")
    return rows.job_of(named)


async def _meant(tx: ReadTx, name: str, seen: Sequence[ColumnElement[bool]]) -> str:
    """The most alike of the names of late, as a question; nothing when none is alike."""
    newest = select(jobs.c.name).where(*seen).order_by(jobs.c.row_id.desc()).limit(_RECENT)
    near = difflib.get_close_matches(name[:63], sorted(set((await tx.ask(newest)).scalars())), 1, 0.75)
    return f"; did you mean {near[0]}?" if near else ""


async def page(tx: ReadTx, wanted: JobFilter, limit: int, after: int | None, *, oldest_first: bool = False) -> JobPage:
    """At most `limit` jobs in the order of submission, newest first unless said otherwise, beyond the place `after`."""
    place = jobs.c.row_id
    asked = select(jobs).where(*wanted.conditions).order_by(place if oldest_first else place.desc()).limit(limit + 1)
    if after is not None:
        asked = asked.where(place > after if oldest_first else place < after)
    found = (await tx.ask(asked)).mappings().all()
    more = len(found) > limit
    return JobPage(tuple(rows.job_of(row) for row in found[:limit]), found[limit - 1]["row_id"] if more else None)


async def counts(tx: ReadTx, wanted: JobFilter) -> dict[JobState, int]:
    """How many there are in each state that has any."""
    counted = select(jobs.c.state, func.count().label("n")).where(*wanted.conditions).group_by(jobs.c.state)
    return {JobState(row.state): row.n for row in await tx.ask(counted)}


async def seen(tx: ReadTx, job_ids: Collection[str], seen_by: Collection[str] | None) -> frozenset[str]:
    """Those of the jobs that are of the projects `seen_by` (None: all)."""
    if not job_ids:
        return frozenset()
    conditions = JobFilter(ids=tuple(job_ids), seen_by=seen_by).conditions
    return frozenset((await tx.ask(select(jobs.c.id).where(*conditions))).scalars())


async def states_of(tx: ReadTx, job_ids: Iterable[str]) -> dict[str, JobState]:
    """Where each of these jobs is; those that are not there are absent."""
    wanted = sorted(set(job_ids))
    if not wanted:
        return {}
    found = await tx.ask(select(jobs.c.id, jobs.c.state).where(jobs.c.id.in_(wanted)))
    return {row.id: JobState(row.state) for row in found}


async def open_jobs(tx: ReadTx, wanted: JobFilter, limit: int) -> tuple[Job, ...]:
    """At most `limit` of the jobs that have not ended, oldest first."""
    still = jobs.c.state.not_in(sorted(TERMINAL))
    asked = select(jobs).where(still, *wanted.conditions).order_by(jobs.c.row_id).limit(limit)
    return tuple(rows.job_of(row) for row in (await tx.ask(asked)).mappings())


async def array(tx: ReadTx, array_id: ArrayId, seen_by: Collection[str] | None = None) -> tuple[Job, ...]:
    """The jobs of an array, by index.

    Raises:
        NotFound: there is no such array among those of the projects `seen_by`.
    """
    conditions = JobFilter(array=array_id, seen_by=seen_by).conditions
    found = (await tx.ask(select(jobs).where(*conditions).order_by(jobs.c.array_index))).mappings().all()
    if not found:
        raise NotFound(f"there is no array {array_id[:80]!r}")
    return tuple(rows.job_of(row) for row in found)


async def attempts_of(tx: ReadTx, job_id: JobId) -> tuple[Attempt, ...]:
    """All attempts of a job, first to last."""
    asked = select(attempts).where(attempts.c.job_id == job_id).order_by(attempts.c.number)
    return tuple(rows.attempt_of(row) for row in (await tx.ask(asked)).mappings())


async def attempt(tx: ReadTx, attempt_id: AttemptId) -> Attempt | None:
    row = (await tx.ask(select(attempts).where(attempts.c.id == attempt_id))).mappings().one_or_none()
    return None if row is None else rows.attempt_of(row)


async def closed_at_ms(tx: ReadTx, attempt_id: AttemptId) -> int | None:
    """When the attempt's end was recorded here, by our clock and not by its host's; None of a live one."""
    asked = select(func.coalesce(attempts.c.closed_at_ms, attempts.c.ended_at_ms)).where(attempts.c.id == attempt_id)
    found: int | None = (await tx.ask(asked)).scalar_one_or_none()
    return found


async def attempt_by_number(tx: ReadTx, job_id: JobId, number: int | None) -> Attempt:
    """The attempt of that number, or the newest one.

    Raises:
        NotFound: the job has no such attempt.
    """
    asked = select(attempts).where(attempts.c.job_id == job_id)
    if number is not None:
        asked = asked.where(attempts.c.number == number)
    asked = asked.order_by(attempts.c.number.desc()).limit(1)
    row = (await tx.ask(asked)).mappings().one_or_none()
    if row is None:
        raise NotFound(f"job {job_id} has no attempt {'yet' if number is None else number}")
    return rows.attempt_of(row)


async def newest_number(tx: ReadTx, job_id: JobId) -> int:
    """The number of the job's newest attempt; 0 if it has none."""
    asked = select(func.max(attempts.c.number)).where(attempts.c.job_id == job_id)
    return int((await tx.ask(asked)).scalar_one() or 0)


async def progress_of(tx: ReadTx, attempt_ids: Sequence[AttemptId]) -> dict[AttemptId, Progress]:
    """What each of these attempts reported; those that never did are absent."""
    found = (await tx.ask(select(progress).where(progress.c.attempt_id.in_(attempt_ids)))).mappings()
    return {report.attempt_id: report for report in map(rows.progress_of, found)}


async def ranks_of(tx: ReadTx, attempt_id: AttemptId) -> tuple[RankStarted, ...]:
    found = await tx.ask(select(ranks).where(ranks.c.attempt_id == attempt_id).order_by(ranks.c.rank))
    return tuple(rows.rank_of(row) for row in found.mappings())


@dataclass(frozen=True, slots=True)
class AttemptDetail:
    attempt: Attempt
    progress: Progress
    ranks: tuple[RankStarted, ...]


async def attempt_details(tx: ReadTx, job_id: JobId) -> tuple[AttemptDetail, ...]:
    """All attempts of a job with what is known of each, first to last."""
    found = await attempts_of(tx, job_id)
    reports = await progress_of(tx, [one.id for one in found])
    return tuple(
        [AttemptDetail(one, reports.get(one.id, Progress(one.id)), await ranks_of(tx, one.id)) for one in found]
    )


async def newest_detail(tx: ReadTx, job_id: JobId) -> AttemptDetail | None:
    """The job's newest attempt with what is known of it; None if it has none."""
    asked = select(attempts).where(attempts.c.job_id == job_id).order_by(attempts.c.number.desc()).limit(1)
    row = (await tx.ask(asked)).mappings().one_or_none()
    if row is None:
        return None
    newest = rows.attempt_of(row)
    reports = await progress_of(tx, [newest.id])
    return AttemptDetail(newest, reports.get(newest.id, Progress(newest.id)), await ranks_of(tx, newest.id))
