"""When waiting jobs will start: `plan` itself, run forward over the expected ends of the gangs.

It knows nobody who is not there yet. Jobs that are submitted later and go first make real starts later than forecast,
and gangs that end early make them earlier; the range says how far off such forecasts were on simulated days.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.domain.ids import JobId, SliceId
from orchestrator.domain.outlook import StartEstimate
from orchestrator.domain.sharing import Project
from orchestrator.scheduler.board import Board
from orchestrator.scheduler.plan import plan
from orchestrator.scheduler.share import accrued, decayed
from orchestrator.scheduler.snapshot import RunningGang, Snapshot, WaitingJob

MOST_STEPS: Final = 400
"""Ends of gangs that a forecast looks ahead."""
EARLIEST_SHARE: Final = 1 / 3
LATEST_SHARE: Final = 3.0
"""Of the forecast wait. How many real starts lie between is measured by `make bench FIGURE=scheduler`: with exact
estimates nine of ten, with learned ones as few as half where jobs that are not there yet go first."""
LEAST_SPREAD_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Step:
    """One moment ahead at which a gang has ended, and who starts then."""

    at_ms: int
    starts: Mapping[JobId, StartEstimate]


def foresee(snapshot: Snapshot, steps: int = MOST_STEPS) -> Iterator[Step]:
    """Step by step, so that its caller may stop anywhere; it ends by itself when nothing more would ever change."""
    ahead: Snapshot | None = snapshot
    for _ in range(steps):
        if ahead is None or not ahead.waiting:
            return
        decided = plan(ahead)
        started = {start.job_id: start.placement.slices for start in decided.starts}
        yield Step(ahead.now_ms, dict.fromkeys(started, _estimate(snapshot.now_ms, ahead.now_ms)))
        ahead = _after(ahead, started, {eviction.job_id for eviction in decided.evictions})


def forecast(
    snapshot: Snapshot, of: Collection[JobId] | None = None, steps: int = MOST_STEPS
) -> dict[JobId, StartEstimate]:
    """Estimates for the waiting jobs (or those named) that start within `steps` ends; the others are left out."""
    wanted = {job.id for job in snapshot.waiting} if of is None else set(of)
    found: dict[JobId, StartEstimate] = {}
    for step in foresee(snapshot, steps):
        found |= {job_id: step.starts[job_id] for job_id in step.starts.keys() & wanted}
        if wanted <= found.keys():
            break
    return found


def _estimate(now_ms: int, at_ms: int) -> StartEstimate:
    wait = at_ms - now_ms
    earliest = now_ms + int(wait * EARLIEST_SHARE)
    latest = now_ms + max(int(wait * LATEST_SHARE), wait + LEAST_SPREAD_MS if wait else 0)
    return StartEstimate(at_ms, earliest, latest)


def _after(snapshot: Snapshot, started: dict[JobId, tuple[SliceId, ...]], evicted: set[JobId]) -> Snapshot | None:
    """The world when the next gang has ended: as planned, with nobody new. None if nothing would ever change."""
    now, policy = snapshot.now_ms, snapshot.policy
    board = Board(snapshot)
    jobs = {job.id: job for job in snapshot.waiting}
    shape_chips = {offered.id: offered.shape.chips for offered in snapshot.slices}
    gangs = [
        replace(gang, stopping=True, ends_at_ms=now + policy.notice_ms)
        if gang.job_id in evicted
        else replace(gang, ends_at_ms=board.expected_end_ms(gang))
        for gang in snapshot.running
    ]
    gangs += [_begun(jobs[id], slices, now, board, shape_chips) for id, slices in started.items()]
    edges = [edge for s in snapshot.slices for w in s.windows for edge in (w.since_ms, w.until_ms) if edge > now]
    ends = [gang.ends_at_ms for gang in gangs if gang.ends_at_ms is not None]
    if not ends and not edges:
        return None
    then = max(now + 1, min([*ends, *edges]))
    running = tuple(gang for gang in gangs if gang.ends_at_ms is None or gang.ends_at_ms > then)
    held = {slice_id for gang in running for slice_id in gang.slices}
    ours = {slice_id for gang in gangs for slice_id in gang.slices}
    return replace(
        snapshot,
        now_ms=then,
        waiting=tuple(job for job in snapshot.waiting if job.id not in started),
        running=running,
        slices=tuple(
            offered if offered.id not in ours else offered._replace(free=offered.id not in held)
            for offered in snapshot.slices
        ),
        projects=_used(snapshot, gangs, then),
    )


def _begun(
    job: WaitingJob, slices: tuple[SliceId, ...], now_ms: int, board: Board, chips: dict[SliceId, int]
) -> RunningGang:
    return RunningGang(
        job_id=job.id,
        slices=slices,
        chips=sum(chips[id] for id in slices),
        band=job.band,
        started_at_ms=now_ms,
        project=job.project,
        ends_at_ms=now_ms + board.runtime_ms(job),
        array=job.array,
    )


def _used(snapshot: Snapshot, gangs: list[RunningGang], then_ms: int) -> dict[str, Project]:
    half_life, span = snapshot.policy.usage_half_life_ms, then_ms - snapshot.now_ms
    found = {
        name: replace(project, usage_chip_ms=decayed(project.usage_chip_ms, span, half_life))
        for name, project in snapshot.projects.items()
    }
    for gang in gangs:
        known = found.get(gang.project) or Project(gang.project)
        found[gang.project] = replace(known, usage_chip_ms=known.usage_chip_ms + accrued(gang.chips, span, half_life))
    return found
