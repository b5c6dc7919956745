"""Whether a gang fits: whole, on named slices of one pool, or the reason why not as a value."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.ids import ClusterId, SliceId
from orchestrator.domain.spec import Capacity
from orchestrator.domain.topology import SliceRequest
from orchestrator.scheduler.snapshot import OfferedSlice, WaitingJob


@dataclass(frozen=True, slots=True)
class Placement:
    """The slices that a gang gets."""

    cluster_id: ClusterId
    slices: tuple[SliceId, ...]
    chips: int


class MisfitKind(StrEnum):
    """Why a gang does not fit now."""

    NO_SUCH_SLICES = "no_such_slices"
    """It would not fit if every slice were free."""
    BUSY = "busy"
    """It would fit, but other jobs hold the slices."""
    RESERVED = "reserved"
    """Free slices fit, but they are kept for a job that was there first."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """One choice of a job that cannot be placed. `of_shape` counts slices that are up, `free` those nobody holds."""

    kind: MisfitKind
    wants: SliceRequest
    of_shape: int
    free: int
    largest: tuple[str, ...]
    """Shapes that are up, most chips first."""

    @property
    def says(self) -> str:
        want = f"wants {self.wants} ({self.wants.chips} chips on {self.wants.hosts} hosts)"
        match self.kind:
            case MisfitKind.NO_SUCH_SLICES:
                have = ", ".join(self.largest) or "none"
                return f"{want}: {self.of_shape} of that shape are up, {self.wants.count} needed; slices up: {have}"
            case MisfitKind.BUSY:
                return f"{want}: {self.of_shape} of that shape are up, {self.free} free, {self.wants.count} needed"
            case MisfitKind.RESERVED:
                return f"{want}: {self.free} free, but kept for a job that waits longer or has a higher priority"


def place(
    job: WaitingJob, slices: Sequence[OfferedSlice], reserved: Collection[SliceId]
) -> Placement | tuple[Misfit, ...]:
    """The first choice of the job that fits on free slices that nobody reserved, else one misfit per choice."""
    misfits = []
    for wants in job.choices:
        of_shape = [s for s in slices if _matches(s, wants, job.capacity)]
        open_now = [s for s in of_shape if s.free and s.id not in reserved]
        if pool := _one_pool(open_now, wants.count):
            return Placement(pool[0].cluster_id, tuple(s.id for s in pool), wants.chips)
        misfits.append(_misfit(wants, of_shape, slices))
    return tuple(misfits)


def reserve(job: WaitingJob, slices: Sequence[OfferedSlice], reserved: Collection[SliceId]) -> tuple[SliceId, ...]:
    """Named slices to keep for a blocked job: of its best choice that exists at all, free ones first.

    Without it a stream of small jobs would starve a large one for ever.
    """
    for wants in job.choices:
        candidates = [s for s in slices if _matches(s, wants, job.capacity) and s.id not in reserved]
        if pool := _one_pool(sorted(candidates, key=lambda s: not s.free), wants.count):
            return tuple(s.id for s in pool)
    return ()


def _matches(offered: OfferedSlice, wants: SliceRequest, capacity: Capacity) -> bool:
    return offered.shape == wants.shape and capacity in (Capacity.ANY, offered.capacity)


def _one_pool(candidates: Sequence[OfferedSlice], count: int) -> tuple[OfferedSlice, ...]:
    """`count` slices of one pool of one cluster, in the order given; empty if no pool has as many."""
    pools: defaultdict[tuple[ClusterId, str], list[OfferedSlice]] = defaultdict(list)
    for candidate in candidates:
        pools[candidate.cluster_id, candidate.pool].append(candidate)
    fitting = (pool for pool in pools.values() if len(pool) >= count)
    return tuple(next(fitting, ())[:count])


def _misfit(wants: SliceRequest, of_shape: Sequence[OfferedSlice], slices: Sequence[OfferedSlice]) -> Misfit:
    free = [s for s in of_shape if s.free]
    if not _one_pool(of_shape, wants.count):
        kind = MisfitKind.NO_SUCH_SLICES
    elif _one_pool(free, wants.count):
        kind = MisfitKind.RESERVED
    else:
        kind = MisfitKind.BUSY
    up = sorted(Counter(s.shape for s in slices).items(), key=lambda item: (-item[0].chips, item[0]))
    return Misfit(kind, wants, len(of_shape), len(free), tuple(f"{count} x {shape}" for shape, count in up))
