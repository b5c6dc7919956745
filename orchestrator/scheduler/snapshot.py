"""What the scheduler sees: its own small input types, so that it knows neither rows nor the wire."""

from dataclasses import dataclass

from orchestrator.domain.ids import ClusterId, JobId, SliceId
from orchestrator.domain.spec import Band, Capacity
from orchestrator.domain.topology import SliceRequest, SliceShape


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that wants slices now."""

    id: JobId
    choices: tuple[SliceRequest, ...]
    """Acceptable slices, best first."""
    capacity: Capacity
    band: Band
    rank_in_band: int
    submitted_at_ms: int
    """A restarted job keeps its first submit time and so its place in the queue."""


@dataclass(frozen=True, slots=True)
class OfferedSlice:
    """A slice that is up in a cluster that answers; `free` when no live attempt holds it."""

    id: SliceId
    cluster_id: ClusterId
    pool: str
    shape: SliceShape
    capacity: str
    free: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The input of `plan`."""

    waiting: tuple[WaitingJob, ...]
    slices: tuple[OfferedSlice, ...]
