"""What would start a waiting job now: changes to its spec or to the world, each tried by planning anew.

A way out is offered only if `plan`, run on the snapshot with that one change, starts the job: it is true by
construction. There may be none: two things at once may stand in the way.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from orchestrator.domain.capacity import Capacity
from orchestrator.domain.ids import JobId
from orchestrator.domain.sharing import Quota
from orchestrator.domain.spec import Band
from orchestrator.domain.topology import SliceRequest
from orchestrator.scheduler.board import Board
from orchestrator.scheduler.plan import WaitReason, plan
from orchestrator.scheduler.quota import OverLimit
from orchestrator.scheduler.snapshot import RunningGang, Snapshot, WaitingJob

_TOP_RANK = 9999


@dataclass(frozen=True, slots=True)
class WayOut:
    """One change and the world with it."""

    says: str
    apply: Callable[[Snapshot], Snapshot]
    jobs: tuple[JobId, ...] = ()
    """Whose end it is, if that is the change."""


def ways_out(snapshot: Snapshot, job_id: JobId) -> tuple[WayOut, ...]:
    """Every way out that was found, those that cost others least first."""
    job = next((job for job in snapshot.waiting if job.id == job_id), None)
    if job is None:
        return ()
    reasons = next((wait.reasons for wait in plan(snapshot).waits if wait.job_id == job_id), ())
    return tuple(way for way in _candidates(snapshot, job, reasons) if _starts(way.apply(snapshot), job_id))


def _starts(snapshot: Snapshot, job_id: JobId) -> bool:
    return any(start.job_id == job_id for start in plan(snapshot).starts)


def _candidates(snapshot: Snapshot, job: WaitingJob, reasons: tuple[WaitReason, ...]) -> Iterator[WayOut]:
    yield from _shorter(snapshot, job)
    yield from _other_slices(snapshot, job)
    if job.capacity is not Capacity.ANY:
        yield _with_job("take any kind of capacity", job, capacity=Capacity.ANY)
    yield from _goes_first(job)
    yield from _gates(job)
    yield from (_raised(over) for over in reasons if isinstance(over, OverLimit))
    yield from _ended(snapshot, job)


def _with_job(says: str, job: WaitingJob, **fields: object) -> WayOut:
    def apply(snapshot: Snapshot) -> Snapshot:
        changed = tuple(replace(w, **fields) if w.id == job.id else w for w in snapshot.waiting)  # type: ignore[arg-type]
        return replace(snapshot, waiting=changed)

    return WayOut(says, apply)


def _shorter(snapshot: Snapshot, job: WaitingJob) -> Iterator[WayOut]:
    """Ends before what is kept: the longest runtime with which it would still pass."""
    board = Board(snapshot)
    for kept in plan(snapshot).reservations:
        if (home := board.home(kept.slices[0])) is not None and kept.job_id != job.id:
            home.keep(kept.slices, kept.at_ms, 0)
    spans = set()
    for wants, groups in board.options(job):
        for group in groups:
            untils = sorted((until for until, _ in (*group.sound, *group.suspect)), reverse=True)
            if len(untils) >= wants.count:
                spans.add(untils[wants.count - 1] - snapshot.now_ms)
    for span in sorted(spans, reverse=True):
        minutes = span // 60_000
        if minutes and (job.runtime_ms is None or minutes * 60_000 < job.runtime_ms):
            yield _with_job(f"say expected_runtime: {minutes}m, if it ends by then", job, runtime_ms=minutes * 60_000)
            return


def _other_slices(snapshot: Snapshot, job: WaitingJob) -> Iterator[WayOut]:
    """One slice of another shape, or fewer of the same; the sizes nearest to what it wants first."""
    wanted = job.choices[0].chips
    free = Counter(offered.shape for offered in snapshot.slices if offered.free)
    requests = {SliceRequest(1, shape) for shape in free}
    requests |= {SliceRequest(n, choice.shape) for choice in job.choices for n in range(1, choice.count)}
    for request in sorted(requests - set(job.choices), key=lambda r: (abs(r.chips - wanted), str(r))):
        yield _with_job(f"take {request} ({request.chips} chips)", job, choices=(request,))


def _goes_first(job: WaitingJob) -> Iterator[WayOut]:
    if job.rank_in_band < _TOP_RANK:
        says = f"priority: {job.band.name.lower()}/{_TOP_RANK}, before the project's other jobs"
        yield _with_job(says, job, rank_in_band=_TOP_RANK)
    for band in sorted(Band, reverse=True):
        if band < job.band:
            yield _with_job(f"priority: {band.name.lower()}", job, band=band)


def _gates(job: WaitingJob) -> Iterator[WayOut]:
    if job.after:
        yield _with_job(f"do not wait for {len(job.after)} jobs to end", job, after=())
    if job.array is not None:
        more = replace(job.array, at_once=job.array.at_once + 1)
        yield _with_job(f"let {more.at_once} jobs of the array run at once", job, array=more)


def _raised(over: OverLimit) -> WayOut:
    limit = over.used_chips + over.wants_chips

    def raised(quota: Quota) -> Quota:
        return replace(quota, limit_chips=limit) if (quota.owner, quota.pool) == (over.owner, over.pool) else quota

    def apply(snapshot: Snapshot) -> Snapshot:
        return replace(snapshot, quotas=tuple(raised(quota) for quota in snapshot.quotas))

    return WayOut(f"raise the limit of {over.owner} to {limit} chips", apply)


def _ended(snapshot: Snapshot, job: WaitingJob) -> Iterator[WayOut]:
    """Gangs that could be cancelled: the one that loses least, then the least many that are enough."""
    shapes = {choice.shape for choice in job.choices}
    of_shape = {offered.id for offered in snapshot.slices if offered.shape in shapes}
    cheapest = sorted(
        (gang for gang in snapshot.running if of_shape.intersection(gang.slices)),
        key=lambda gang: (gang.lost_chip_ms(snapshot.now_ms), gang.job_id),
    )
    for count in range(1, min(len(cheapest), max(choice.count for choice in job.choices)) + 1):
        way = _without(tuple(cheapest[:count]))
        if _starts(way.apply(snapshot), job.id):
            yield way
            return


def _without(gangs: tuple[RunningGang, ...]) -> WayOut:
    gone = {gang.job_id for gang in gangs}
    freed = {slice_id for gang in gangs for slice_id in gang.slices}

    def apply(snapshot: Snapshot) -> Snapshot:
        return replace(
            snapshot,
            running=tuple(gang for gang in snapshot.running if gang.job_id not in gone),
            slices=tuple(s._replace(free=True) if s.id in freed else s for s in snapshot.slices),
        )

    jobs = tuple(gang.job_id for gang in gangs)
    return WayOut(f"cancel {', '.join(jobs)}", apply, jobs)
