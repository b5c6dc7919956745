"""Taking slices back: whose end costs least, and who must never be asked. Also elastic gangs, which can give and grow.

Chip-seconds lost are counted since the victim's last *committed* step, plus what its restart costs. Victims are asked
to save first; until they are gone nobody else is taken for the same job.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.ids import JobId, SliceId
from orchestrator.domain.topology import SliceRequest
from orchestrator.scheduler.board import Board, Group, Option
from orchestrator.scheduler.policy import Policy
from orchestrator.scheduler.quota import Meter
from orchestrator.scheduler.snapshot import RunningGang, WaitingJob

_MOST_DOUBLINGS = 10


class EvictionCause(StrEnum):
    """Why a gang has to go."""

    HIGHER_BAND = "higher_band"
    GUARANTEE = "guarantee"
    """It borrowed what is guaranteed to somebody who now wants it."""
    MAINTENANCE = "maintenance"
    """One of its slices goes out."""
    SHRINK = "shrink"
    """Elastic: it goes on with fewer slices, so that another job can start."""
    GROW = "grow"
    """Elastic: it goes on with more slices, which nobody else wants."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """This job's gang is asked to save and to end."""

    job_id: JobId
    cause: EvictionCause
    lost_chip_ms: int
    """If it does not manage to save."""
    in_favour_of: JobId | None = None
    slices_after: int | None = None
    """An elastic gang's next number of slices."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Victims whose slices, with free ones, are enough for a job; none if those already on their way out suffice."""

    group: Group
    slices: tuple[SliceId, ...]
    evictions: tuple[Eviction, ...]
    at_ms: int
    """When the slices should be free."""

    @property
    def lost_chip_ms(self) -> int:
        return sum(eviction.lost_chip_ms for eviction in self.evictions)


def claim(
    job: WaitingJob, options: Sequence[Option], board: Board, meter: Meter | None, policy: Policy, doomed: set[JobId]
) -> Claim | None:
    """The cheapest victims that let the job start, over all its choices; None if nobody may be asked.

    `doomed` are those already asked in this plan. Nobody is asked where gangs that are ending anyway are enough, or
    where the job can start by itself within the policy's patience.
    """
    runtime_ms = board.runtime_ms(job)
    best: Claim | None = None
    for wants, groups in options:
        for group in groups:
            if incoming := _incoming(job, wants, group, board):
                return incoming
            soonest = group.earliest(wants.count, runtime_ms)
            if soonest is not None and soonest[0] <= board.now_ms + policy.patience_ms:
                return None
            if meter is not None and meter.over_limit(job.project, group.pool, wants.chips):
                continue
            found = _claim_in(job, wants, group, board, meter, policy, doomed)
            if found is not None and (best is None or found.lost_chip_ms < best.lost_chip_ms):
                best = found
    return best


def _incoming(job: WaitingJob, wants: SliceRequest, group: Group, board: Board) -> Claim | None:
    """Slices of gangs that have been told to end, and that nobody has reserved, with the free ones."""
    leaving = {id: board.expected_end_ms(gang) for gang in group.gangs if gang.stopping for id in gang.slices}
    unclaimed = [id for id, ends in leaving.items() if group.from_ms.get(id) == ends]
    if not unclaimed:
        return None
    free = _free(job, group, board)
    if len(unclaimed) + len(free) < wants.count:
        return None
    taken = (unclaimed + free)[: wants.count]
    return Claim(group, tuple(taken), (), max(leaving.get(id, board.now_ms) for id in taken))


def _free(job: WaitingJob, group: Group, board: Board) -> list[SliceId]:
    end_ms = board.end_ms(job)
    return [id for until, id in (*group.sound, *group.suspect) if until >= end_ms]


def _claim_in(
    job: WaitingJob,
    wants: SliceRequest,
    group: Group,
    board: Board,
    meter: Meter | None,
    policy: Policy,
    doomed: set[JobId],
) -> Claim | None:
    now, free = board.now_ms, _free(job, group, board)
    missing = wants.count - len(free)
    offers = sorted(
        (
            (eviction.lost_chip_ms / len(slices), eviction.job_id, eviction, slices)
            for gang in group.gangs
            if gang.job_id not in doomed and not gang.stopping and _has_run(gang, now, policy)
            for eviction, slices in _offers(job, wants, gang, group, meter, now)
        ),
        key=lambda offer: offer[:2],
    )
    chosen: dict[JobId, tuple[Eviction, tuple[SliceId, ...]]] = {}
    freed = 0
    for _, job_id, eviction, slices in offers:
        if freed >= missing:
            break
        if job_id not in chosen:
            chosen[job_id] = eviction, slices
            freed += len(slices)
    if freed < missing or not chosen:
        return None
    for job_id, (_, slices) in sorted(chosen.items(), key=lambda item: -item[1][0].lost_chip_ms):
        if freed - len(slices) >= missing:  # taken before a larger gang made it needless
            freed -= len(slices)
            del chosen[job_id]
    taken = [id for _, slices in chosen.values() for id in slices][: wants.count]
    return Claim(
        group,
        tuple(taken + free[: wants.count - len(taken)]),
        tuple(eviction for eviction, _ in chosen.values()),
        now + policy.patience_ms,
    )


def _offers(
    job: WaitingJob, wants: SliceRequest, gang: RunningGang, group: Group, meter: Meter | None, now_ms: int
) -> Iterator[tuple[Eviction, tuple[SliceId, ...]]]:
    """What a gang can be asked for on behalf of the job: to shrink, or to go."""
    lost = gang.lost_chip_ms(now_ms)
    usable = tuple(id for id in gang.slices if id in group.from_ms)
    if gang.slice_counts is not None and gang.band >= job.band and len(gang.slices) > gang.slice_counts[0]:
        least = gang.slice_counts[0]
        spare = usable[max(least, len(gang.slices) - wants.count) :]
        if spare:
            after = len(gang.slices) - len(spare)
            yield Eviction(gang.job_id, EvictionCause.SHRINK, lost, job.id, after), spare
    cause = _cause(job, wants, gang, group, meter)
    if cause is not None and usable:
        yield Eviction(gang.job_id, cause, lost, job.id), usable


def _cause(
    job: WaitingJob, wants: SliceRequest, gang: RunningGang, group: Group, meter: Meter | None
) -> EvictionCause | None:
    """A lower band yields always, the same band only what it has borrowed, a higher band never."""
    if gang.band > job.band:
        return EvictionCause.HIGHER_BAND
    if gang.band < job.band or meter is None:
        return None
    owner = meter.guarantor(job.project, group.pool, wants.chips)
    if owner is not None and meter.lends(gang.project, group.pool, gang.chips, owner):
        return EvictionCause.GUARANTEE
    return None


def protected_until_ms(gang: RunningGang, policy: Policy) -> int:
    """Until when a gang may not be evicted: each eviction that it has had doubles its minimum run time."""
    return gang.started_at_ms + policy.min_runtime_ms * (1 << min(gang.evicted_before, _MOST_DOUBLINGS))


def _has_run(gang: RunningGang, now_ms: int, policy: Policy) -> bool:
    return now_ms >= protected_until_ms(gang, policy)


def for_maintenance(board: Board, policy: Policy) -> Iterator[Eviction]:
    """Gangs on a slice whose window opens within the notice."""
    for group in board.groups():
        for gang in group.gangs:
            opens = [w.since_ms for id in gang.slices for w in group.windows.get(id, ())]
            if not gang.stopping and opens and min(opens) <= board.now_ms + policy.notice_ms:
                yield Eviction(gang.job_id, EvictionCause.MAINTENANCE, gang.lost_chip_ms(board.now_ms))


def growths(board: Board, policy: Policy, doomed: Iterable[JobId]) -> Iterator[Eviction]:
    """Elastic gangs that may take slices that nobody waits for, the smallest gang first. At most one per group: the
    others see what is left once it has grown."""
    gone = frozenset(doomed)
    for group in board.groups():
        free = sum(1 for until, _ in group.sound if until >= board.now_ms + policy.resize_worth_ms)
        if group.wanted or not free:
            continue
        for gang in sorted(group.gangs, key=lambda gang: (len(gang.slices), gang.job_id)):
            counts = gang.slice_counts
            if counts is None or gang.stopping or gang.job_id in gone or len(gang.slices) >= counts[1]:
                continue
            remaining = board.expected_end_ms(gang) - board.now_ms
            if remaining >= policy.resize_worth_ms and _has_run(gang, board.now_ms, policy):
                after = min(counts[1], len(gang.slices) + free)
                lost = gang.lost_chip_ms(board.now_ms)
                yield Eviction(gang.job_id, EvictionCause.GROW, lost, slices_after=after)
                break
