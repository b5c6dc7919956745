"""What the scheduler sees: its own small input types, so that it knows neither rows nor the wire.

All times are wall-clock milliseconds, all spans milliseconds, unless a name says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from orchestrator.domain.capacity import Capacity
from orchestrator.domain.ids import ClusterId, JobId, SliceId
from orchestrator.domain.sharing import Health, PoolLimits, Project, Quota, Window
from orchestrator.domain.spec import Band
from orchestrator.domain.topology import SliceRequest, SliceShape
from orchestrator.scheduler.policy import DEFAULT, Policy


@dataclass(frozen=True, slots=True)
class Array:
    """The array that a job belongs to: at most `at_once` of its members run together."""

    id: str
    at_once: int


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that wants slices now."""

    id: JobId
    choices: tuple[SliceRequest, ...]
    """Acceptable slices, best first. An elastic job lists its counts, largest first."""
    capacity: Capacity
    band: Band
    rank_in_band: int
    submitted_at_ms: int
    """A restarted job keeps its first submit time and so its place in the queue."""
    project: str = "default"
    runtime_ms: int | None = None
    """Expected time on the slices from now on; None: nobody knows."""
    fallback: tuple[Capacity, ...] = ()
    """Kinds that it takes when `capacity` has nothing free, best first."""
    returning: bool = False
    """It was evicted or resized: it waits at the head of its band."""
    after: tuple[JobId, ...] = ()
    """Jobs that must end first."""
    array: Array | None = None


@dataclass(frozen=True, slots=True)
class RunningGang:
    """A live attempt. Its band is the one that it started with: priority is frozen at the start."""

    job_id: JobId
    slices: tuple[SliceId, ...]
    chips: int
    band: Band
    started_at_ms: int
    project: str = "default"
    ends_at_ms: int | None = None
    """As its estimate says; None: nobody knows. One that has passed counts as overrun."""
    committed_at_ms: int | None = None
    """When the loop had made the newest committed step; None: nothing is committed since it started."""
    restart_ms: int = 0
    """What stopping and starting again costs: launch, compile, restore."""
    stopping: bool = False
    """It has been told to end; `ends_at_ms` is when it must be gone."""
    evicted_before: int = 0
    slice_counts: tuple[int, int] | None = None
    """(least, most) slices of an elastic gang."""
    array: Array | None = None

    def lost_chip_ms(self, now_ms: int) -> int:
        """Chip-milliseconds that an end now undoes: since the last commit, and what the restart costs."""
        since = self.started_at_ms if self.committed_at_ms is None else self.committed_at_ms
        return self.chips * (max(0, now_ms - since) + self.restart_ms)


class OfferedSlice(NamedTuple):
    """A slice that is up in a cluster that answers; `free` when no live attempt holds it."""

    id: SliceId
    cluster_id: ClusterId
    pool: str
    shape: SliceShape
    capacity: str
    free: bool
    health: Health = Health.SOUND
    windows: tuple[Window, ...] = ()
    idle_since_ms: int | None = None
    """When it last became free; None while it is held."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The input of `plan`."""

    waiting: tuple[WaitingJob, ...]
    slices: tuple[OfferedSlice, ...]
    running: tuple[RunningGang, ...] = ()
    now_ms: int = 0
    projects: Mapping[str, Project] = field(default_factory=lambda: MappingProxyType({}))
    quotas: tuple[Quota, ...] = ()
    pools: tuple[PoolLimits, ...] = ()
    policy: Policy = DEFAULT
