"""Wishes for capacity: ask a provider for slices that blocked jobs want, let idle ones go. Never both for one pool.

They cannot oscillate: a slice is let go only after it was idle for longer than a job has to wait before it may ask, and
never while any waiting job could use it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.capacity import Capacity
from orchestrator.domain.ids import ClusterId, SliceId
from orchestrator.domain.sharing import PoolLimits
from orchestrator.domain.topology import SliceShape
from orchestrator.scheduler.snapshot import Snapshot, WaitingJob


@dataclass(frozen=True, slots=True)
class Ask:
    """`count` more slices of this pool would start jobs that wait."""

    cluster_id: ClusterId
    pool: str
    shape: SliceShape
    count: int


@dataclass(frozen=True, slots=True)
class LetGo:
    """Nobody has used this slice for long, and nobody waits who could."""

    slice_id: SliceId


Wish = Ask | LetGo


def wishes(snapshot: Snapshot, blocked: Sequence[WaitingJob], started: frozenset[SliceId]) -> tuple[Wish, ...]:
    """What would help the `blocked` jobs, which no gate or quota keeps out, and what helps nobody."""
    found: list[Wish] = []
    asked: set[str] = set()
    for limits in snapshot.pools:
        takers = [job for job in blocked if _could_use(job, limits)]
        if takers:
            if ask := _ask(snapshot, limits, [job for job in takers if job.id not in asked], started):
                asked |= {job.id for job in takers}
                found.append(ask)
        else:
            found += _idle(snapshot, limits, started)
    return tuple(found)


def _ask(
    snapshot: Snapshot, limits: PoolLimits, takers: Sequence[WaitingJob], started: frozenset[SliceId]
) -> Ask | None:
    """As many as those need who have waited long enough, less what is free or on its way, up to the limit."""
    due_ms = snapshot.now_ms - snapshot.policy.ask_after_ms
    need = sum(_count(job, limits) for job in takers if job.submitted_at_ms <= due_ms)
    mine = [offered for offered in snapshot.slices if _in(offered.cluster_id, offered.pool, limits)]
    idle = sum(offered.free and offered.id not in started for offered in mine)
    room = limits.most - len(mine) - limits.pending
    count = min(need - idle - limits.pending, room)
    return Ask(limits.cluster_id, limits.pool, limits.shape, count) if count > 0 else None


def _idle(snapshot: Snapshot, limits: PoolLimits, started: frozenset[SliceId]) -> list[LetGo]:
    mine = [offered for offered in snapshot.slices if _in(offered.cluster_id, offered.pool, limits)]
    since_ms = snapshot.now_ms - max(snapshot.policy.idle_after_ms, 2 * snapshot.policy.ask_after_ms)
    idle = [
        offered.id
        for offered in mine
        if offered.free
        and offered.id not in started
        and offered.idle_since_ms is not None
        and offered.idle_since_ms <= since_ms
    ]
    spare = len(mine) - limits.least
    return [LetGo(slice_id) for slice_id in sorted(idle)[: max(0, spare)]]


def _could_use(job: WaitingJob, limits: PoolLimits) -> bool:
    kinds = (job.capacity, *job.fallback)
    return _count(job, limits) in range(1, limits.most + 1) and (Capacity.ANY in kinds or limits.capacity in kinds)


def _count(job: WaitingJob, limits: PoolLimits) -> int:
    """Slices of this pool that the job's best fitting choice takes; 0 if it names none of that shape."""
    return next((c.count for c in job.choices if c.shape == limits.shape and c.count <= limits.most), 0)


def _in(cluster_id: ClusterId, pool: str, limits: PoolLimits) -> bool:
    return (cluster_id, pool) == (limits.cluster_id, limits.pool)
