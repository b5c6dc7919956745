"""From the desk to the scheduler's snapshot and back: starts become attempts, evictions become stop orders."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import AttemptId, NewId
from orchestrator.domain.job import Attempt, Cluster, Job, SliceState, Stop
from orchestrator.domain.lifecycle import JobEvent, JobState
from orchestrator.domain.sharing import Health
from orchestrator.reconciler.desk import Desk, JobDraft
from orchestrator.reconciler.storing import held_back, left_out
from orchestrator.scheduler.estimate import ends_at_ms, expected_runtime_ms, left_ms, restart_ms
from orchestrator.scheduler.evict import Eviction, EvictionCause
from orchestrator.scheduler.plan import Start, plan
from orchestrator.scheduler.policy import Policy
from orchestrator.scheduler.snapshot import OfferedSlice, RunningGang, Snapshot, WaitingJob

CLUSTER_SILENT_AFTER_MS: Final = 60_000
"""A cluster process polls at least every 25 s; after this nothing new is placed there, and nothing ends."""

_COMES_BACK: Final = frozenset({Reason.EVICTED, Reason.RESIZED})


def place(desk: Desk, new_id: NewId, policy: Policy) -> int | None:
    """Let the scheduler decide and do as it says; when time alone would change that."""
    decided = plan(snapshot_of(desk, policy))
    for eviction in decided.evictions:
        _evict(desk, eviction)
    for start in decided.starts:
        _start(desk, start, new_id)
    for job in _ripe(desk):
        if (fault := held_back(job, _able(desk))) is not None:
            desk.explain(job.id, fault)
    texts: dict[int, str] = {}  # jobs of one kind share their reasons
    for wait in decided.waits:
        if (says := texts.get(id(wait.reasons))) is None:
            says = texts[id(wait.reasons)] = _why_not(desk, wait.says)
        desk.explain(wait.job_id, says)
    return decided.due_at_ms


def snapshot_of(desk: Desk, policy: Policy) -> Snapshot:
    """What the scheduler may know of the world as it is on the desk."""
    world, now = desk.world, desk.world.now_ms
    drafts = tuple(desk.drafts())
    able = _able(desk)
    live = ((draft.job, draft.live) for draft in drafts if draft.job.state is not JobState.QUEUED)
    return Snapshot(
        waiting=tuple(_waiting(desk, job) for job in _ripe(desk) if held_back(job, able) is None),
        slices=_offers(desk),
        running=tuple(_running(desk, job, attempt, policy) for job, attempt in live if attempt is not None),
        now_ms=now,
        projects=world.projects,
        quotas=world.quotas,
        policy=policy,
    )


def _ripe(desk: Desk) -> Iterator[Job]:
    """Jobs that wait, and whose time has come."""
    queued = (draft.job for draft in desk.drafts() if draft.job.state is JobState.QUEUED)
    return (job for job in queued if job.not_before_ms <= desk.world.now_ms)


def order_stop(desk: Desk, draft: JobDraft, reason: Reason, message: str, resize_to: int | None = None) -> None:
    """Tell the live attempt to end, once: the first stop stands."""
    if draft.job.state not in (JobState.STARTING, JobState.RUNNING) or draft.attempt is None:
        return
    draft.attempt = replace(draft.attempt, stop=Stop(reason, draft.job.spec.grace_ms, desk.world.now_ms, resize_to))
    desk.move(draft, JobEvent.STOP_ORDERED, f"attempt {draft.attempt.number} is told to stop: {message}")


def _evict(desk: Desk, eviction: Eviction) -> None:
    draft = desk.draft(eviction.job_id)
    resized = eviction.slices_after is not None
    order_stop(desk, draft, Reason.RESIZED if resized else Reason.EVICTED, _says(eviction), eviction.slices_after)


def _says(eviction: Eviction) -> str:
    at_stake = f"at most {eviction.lost_chip_ms // 1000:,} chip-seconds are lost"
    match eviction.cause:
        case EvictionCause.HIGHER_BAND:
            return f"evicted for {eviction.in_favour_of}, which is of a higher band; {at_stake}"
        case EvictionCause.GUARANTEE:
            return f"evicted: it borrowed what is guaranteed to the project of {eviction.in_favour_of}; {at_stake}"
        case EvictionCause.MAINTENANCE:
            return f"evicted: a slice of it goes out for maintenance; {at_stake}"
        case EvictionCause.SHRINK:
            return f"goes on with {eviction.slices_after} slices, so that {eviction.in_favour_of} can start"
    return f"goes on with {eviction.slices_after} slices, which nobody else wants"


def _start(desk: Desk, start: Start, new_id: NewId) -> None:
    draft, now = desk.draft(start.job_id), desk.world.now_ms
    job = draft.job
    attempt = Attempt(
        id=AttemptId(new_id("att")),
        job_id=job.id,
        number=job.attempts + 1,
        cluster_id=start.placement.cluster_id,
        slices=start.placement.slices,
        chips=start.placement.chips,
        epoch=desk.world.epoch,
        ordered_at_ms=now,
    )
    draft.started = attempt
    draft.job = replace(
        job, attempts=attempt.number, started_at_ms=job.started_at_ms or now, message="", reason=None, resize_to=None
    )
    desk.move(draft, JobEvent.PLACED, f"attempt {attempt.number} starts on {', '.join(attempt.slices)}")


def _waiting(desk: Desk, job: Job) -> WaitingJob:
    spec, most = job.spec, job.resize_to
    choices = spec.choices
    if most is not None:
        choices = tuple(choice for choice in choices if choice.count <= most) or choices
    return WaitingJob(
        id=job.id,
        choices=choices,
        capacity=spec.capacities[0],
        fallback=spec.capacities[1:],
        band=spec.band,
        rank_in_band=spec.rank_in_band,
        submitted_at_ms=job.created_at_ms,
        project=spec.project,
        runtime_ms=left_ms(expected_runtime_ms(spec, desk.world.history), job.done_ms),
        returning=job.reason in _COMES_BACK,
    )


def _running(desk: Desk, job: Job, attempt: Attempt, policy: Policy) -> RunningGang:
    spec, progress = job.spec, desk.progress(attempt.id)
    counts = [choice.count for choice in spec.choices] if spec.elastic else []
    return RunningGang(
        job_id=job.id,
        slices=attempt.slices,
        chips=attempt.chips,
        band=spec.band,
        started_at_ms=attempt.ordered_at_ms,
        project=spec.project,
        ends_at_ms=ends_at_ms(attempt, left_ms(expected_runtime_ms(spec, desk.world.history), job.done_ms), progress),
        committed_at_ms=progress.committed_at_ms,
        restart_ms=restart_ms(attempt, progress, policy.restart_ms),
        stopping=attempt.stop is not None,
        evicted_before=job.evictions,
        slice_counts=(min(counts), max(counts)) if counts else None,
    )


def _why_not(desk: Desk, says: str) -> str:
    """The scheduler's reasons, and what it cannot know: that slices are there of which nobody has heard for a while."""
    if not desk.slices():
        return "no slice has come up yet"
    answering = frozenset(cluster.id for cluster in _answering(desk))
    silent = sorted({s.cluster_id for s in desk.slices() if s.state is SliceState.UP and s.cluster_id not in answering})
    for cluster in _answering(desk):
        if cluster.id in left_out(_able(desk)):
            says += f"; nothing is placed on {cluster.id}, where checkpoints cannot be written: {cluster.storage_fault}"
    if not silent:
        return says
    return f"{says}; nothing is placed on {', '.join(silent)} until its cluster process answers again"


def _answering(desk: Desk) -> tuple[Cluster, ...]:
    """Clusters whose process spoke a while ago at most."""
    now = desk.world.now_ms
    return tuple(c for c in desk.world.clusters if now - c.seen_at_ms <= CLUSTER_SILENT_AFTER_MS)


def _able(desk: Desk) -> tuple[Cluster, ...]:
    """Those of them that have slices up."""
    up = {known.cluster_id for known in desk.slices() if known.state is SliceState.UP}
    return tuple(cluster for cluster in _answering(desk) if cluster.id in up)


def _offers(desk: Desk) -> tuple[OfferedSlice, ...]:
    """Slices that are up in clusters that answer, and that are not left out."""
    world, able = desk.world, _able(desk)
    open_ones = frozenset(cluster.id for cluster in able) - left_out(able)
    held, health, windows = desk.held_slices(), world.health, world.windows
    return tuple(
        OfferedSlice(
            s.id,
            s.cluster_id,
            s.pool,
            s.shape,
            s.capacity,
            s.id not in held,
            health.get(s.id, Health.SOUND),
            windows.get(s.id, ()),
            None if s.id in held else max(s.updated_at_ms, s.idle_since_ms or 0),
        )
        for s in desk.slices()
        if s.state is SliceState.UP and s.cluster_id in open_ones
    )
