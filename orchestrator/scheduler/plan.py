"""`plan(snapshot)`: which waiting jobs start now, on which slices, who is evicted for whom, and why the others wait."""

from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator.domain.ids import JobId
from orchestrator.domain.spec import Band
from orchestrator.scheduler.backfill import Reservation, find, hold_back, limits, reserve
from orchestrator.scheduler.board import Board, Option
from orchestrator.scheduler.evict import Eviction, claim, for_maintenance, growths, protected_until_ms
from orchestrator.scheduler.fit import Misfit, Placement, misfit
from orchestrator.scheduler.gates import ArrayFull, Gates, Unfinished
from orchestrator.scheduler.order import in_order
from orchestrator.scheduler.policy import Backfill
from orchestrator.scheduler.quota import Meter, OverLimit
from orchestrator.scheduler.snapshot import Snapshot, WaitingJob
from orchestrator.scheduler.wishes import Wish, wishes

WaitReason = Misfit | OverLimit | Unfinished | ArrayFull


@dataclass(frozen=True, slots=True)
class Start:
    """This job's gang goes onto these slices, whole."""

    job_id: JobId
    placement: Placement


class Wait(NamedTuple):
    """Why this job does not start: everything that stands in its way. Jobs of one kind share their reasons."""

    job_id: JobId
    reasons: tuple[WaitReason, ...]

    @property
    def says(self) -> str:
        gates = [reason.says for reason in self.reasons if not isinstance(reason, Misfit)]
        misfits = "; or ".join(reason.says for reason in self.reasons if isinstance(reason, Misfit))
        return "; ".join([*gates, misfits] if misfits else gates)


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions as values."""

    starts: tuple[Start, ...]
    evictions: tuple[Eviction, ...]
    reservations: tuple[Reservation, ...]
    wishes: tuple[Wish, ...]
    waits: tuple[Wait, ...]
    """In the order in which the jobs are offered slices."""
    due_at_ms: int | None = None
    """When time alone may change the plan; None: not before something happens."""


_Kind = tuple[int, str]


@dataclass(slots=True)
class _Draft:
    """What one plan has decided so far."""

    board: Board
    meter: Meter | None
    gates: Gates
    lowest: int
    """The lowest band that runs (the largest number)."""
    lenders: bool
    """Somebody of the job's own band may have to give: a borrower, or an elastic gang."""
    starts: list[Start] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    waiting: list[tuple[WaitingJob, tuple[Option, ...], tuple[WaitReason, ...]]] = field(default_factory=list)
    blocked: list[WaitingJob] = field(default_factory=list)
    too_long: dict[_Kind, int] = field(default_factory=dict)
    """The shortest runtime that failed for a kind of job: what is left only shrinks, so longer ones fail too."""
    seen: set[_Kind] = field(default_factory=set)
    """Kinds of which one job at least is blocked."""
    unreserved: set[_Kind] = field(default_factory=set)
    """Kinds for which no reservation is left to give."""
    unclaimed: set[tuple[_Kind, Band]] = field(default_factory=set)
    """Kinds for which nobody more can be asked to go."""
    claims: int = 0


def plan(snapshot: Snapshot) -> Plan:
    """Offer the slices to the waiting jobs in their order. Pure and deterministic.

    A job that would fit if slices were free reserves them by name, as far as its pool has reservations to give; a job
    that could never fit reserves nothing and blocks nobody.
    """
    board = Board(snapshot)
    draft = _Draft(
        board,
        _meter(snapshot, board),
        Gates(snapshot.running),
        lowest=max((gang.band for gang in snapshot.running), default=-1),
        lenders=any(quota.guarantee_chips for quota in snapshot.quotas)
        or any(gang.slice_counts for gang in snapshot.running),
    )
    draft.evictions += for_maintenance(board, snapshot.policy)
    for job in in_order(snapshot):
        _offer(snapshot, draft, job)
    if any(gang.slice_counts for gang in snapshot.running):
        draft.evictions += growths(board, snapshot.policy, (eviction.job_id for eviction in draft.evictions))
    used = frozenset(slice_id for start in draft.starts for slice_id in start.placement.slices)
    return Plan(
        tuple(draft.starts),
        tuple(draft.evictions),
        tuple(draft.reservations),
        wishes(snapshot, draft.blocked, used) if snapshot.pools else (),
        _waits(draft),
        _due_at_ms(snapshot, draft),
    )


def _meter(snapshot: Snapshot, board: Board) -> Meter | None:
    if not snapshot.quotas:
        return None
    homes = {id: home.pool for gang in snapshot.running for id in gang.slices[:1] if (home := board.home(id))}
    return Meter(snapshot.quotas, snapshot.projects, snapshot.running, homes)


def _offer(snapshot: Snapshot, draft: _Draft, job: WaitingJob) -> None:
    """Start the job, or say why not and, if it is one of the first that are blocked, keep slices for it."""
    board, meter = draft.board, draft.meter
    options = board.options(job)
    if shut := (draft.gates.shut(job) if job.after or job.array else ()):
        draft.waiting.append((job, options, shut))
        return
    kind = (id(options), job.project if meter is not None else "")
    runtime = board.runtime_ms(job)
    if runtime < draft.too_long.get(kind, runtime + 1):
        if spot := find(job, options, board, meter):
            taken = spot.group.take(spot.wants.count, board.end_ms(job), board.now_ms + runtime)
            draft.starts.append(Start(job.id, Placement(spot.group.cluster_id, taken, spot.wants.chips)))
            draft.gates.started(job)
            if meter is not None:
                meter.take(job.project, spot.group.pool, spot.wants.chips)
            return
        draft.too_long[kind] = runtime
    over = limits(job, options, meter) if meter is not None else ()
    draft.waiting.append((job, options, over))
    if not over:
        draft.blocked.append(job)
        _block(snapshot, draft, job, options, kind)


def _block(snapshot: Snapshot, draft: _Draft, job: WaitingJob, options: tuple[Option, ...], kind: _Kind) -> None:
    """Evict for the job, or reserve for it, as far as the policy goes."""
    if kind not in draft.seen:
        draft.seen.add(kind)
        for wants, groups in options:
            for group in groups:
                group.wanted = group.wanted or group.up >= wants.count
    if _may_claim(snapshot, draft, job, kind) and _claim(snapshot, draft, job, options, kind):
        return
    if kind not in draft.unreserved:
        if kept := reserve(job, options, draft.board, snapshot.policy):
            draft.reservations.append(kept)
        else:
            draft.unreserved.add(kind)
        hold_back(options, snapshot.policy)


def _may_claim(snapshot: Snapshot, draft: _Draft, job: WaitingJob, kind: _Kind) -> bool:
    """Whether there is anybody whom the job might ask to go. Cheap: most blocked jobs get no further."""
    if not snapshot.policy.evict or draft.claims >= snapshot.policy.claims_at_once:
        return False
    return (job.band < draft.lowest or draft.lenders) and (kind, job.band) not in draft.unclaimed


def _claim(snapshot: Snapshot, draft: _Draft, job: WaitingJob, options: tuple[Option, ...], kind: _Kind) -> bool:
    """Ask victims to go and keep their slices for the job; whether that is done, now or by an earlier plan."""
    board, policy = draft.board, snapshot.policy
    doomed = {eviction.job_id for eviction in draft.evictions}
    claimed = claim(job, options, board, draft.meter, policy, doomed)
    if claimed is None:
        draft.unclaimed.add((kind, job.band))
        return False
    draft.claims += bool(claimed.evictions)
    draft.evictions += claimed.evictions
    claimed.group.keep(claimed.slices, claimed.at_ms, board.runtime_ms(job))
    draft.reservations.append(Reservation(job.id, claimed.slices, claimed.at_ms))
    return True


def _waits(draft: _Draft) -> tuple[Wait, ...]:
    """Reasons are computed once per kind of job, with the counts as they are when all is decided."""
    fleet = tuple(draft.board.groups())
    misfits: dict[int, tuple[Misfit, ...]] = {}
    waits = []
    for job, options, gates in draft.waiting:
        if (reasons := misfits.get(id(options))) is None:
            reasons = misfits[id(options)] = tuple(misfit(wants, groups, fleet) for wants, groups in options)
        waits.append(Wait(job.id, (*gates, *reasons) if gates else reasons))
    return tuple(waits)


def _due_at_ms(snapshot: Snapshot, draft: _Draft) -> int | None:
    """The next moment at which time alone may change the plan.

    Edges of maintenance windows; and while somebody waits, the next gang to outrun its estimate or its protection.
    """
    now, policy = snapshot.now_ms, snapshot.policy
    windows = (window for offered in snapshot.slices for window in offered.windows)
    due = [at for w in windows for at in (w.since_ms - policy.notice_ms, w.since_ms, w.until_ms)]
    if draft.blocked and policy.backfill is Backfill.RESERVED:
        due += [gang.ends_at_ms + 1 for gang in snapshot.running if gang.ends_at_ms is not None]
    if policy.evict and (draft.lenders or any(job.band < draft.lowest for job in draft.blocked)):
        due += [protected_until_ms(gang, policy) for gang in snapshot.running]
    if snapshot.pools:
        due += [job.submitted_at_ms + policy.ask_after_ms for job in draft.blocked]
        idle = (s.idle_since_ms for s in snapshot.slices if s.free and s.idle_since_ms is not None)
        due += [since + policy.idle_after_ms for since in idle]
    return min((at for at in due if at > now), default=None)
