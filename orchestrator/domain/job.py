"""Jobs, attempts, slices and events as they are stored: frozen records; times are wall-clock milliseconds (UTC)."""

from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.access import Actor
from orchestrator.domain.endings import Budget, Reason
from orchestrator.domain.ids import ArrayId, AttemptId, ClusterId, JobId, SliceId
from orchestrator.domain.incident import Cause
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.spec import JobSpec
from orchestrator.domain.topology import SliceShape


class Desired(StrEnum):
    """What the user wants of a job: the intent that the API writes."""

    RUN = "run"
    HELD = "held"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Charges:
    """Restarts drawn so far on each budget."""

    failures: int = 0
    stalls: int = 0
    preemptions: int = 0
    infra: int = 0

    def of(self, budget: Budget) -> int:
        return int(getattr(self, budget.value))

    def plus(self, budget: Budget) -> "Charges":
        return Charges(**{b.value: self.of(b) + (b is budget) for b in Budget})


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """A job's place in its array, of which at most `limit` jobs are let into the queue at once."""

    id: ArrayId
    index: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Job:
    """A submitted spec and where it is. Only the tick changes anything but `desired`."""

    id: JobId
    spec: JobSpec
    state: JobState
    desired: Desired
    version: int
    """Raised by every write; a write names the version it saw."""
    created_at_ms: int
    queued_at_ms: int
    """When it last became QUEUED."""
    started_at_ms: int | None = None
    """When its first attempt was ordered."""
    ended_at_ms: int | None = None
    not_before_ms: int = 0
    """Back-off: not placed earlier."""
    attempts: int = 0
    charges: Charges = Charges()
    evictions: int = 0
    """How often the scheduler took its slices: each doubles the time for which it is left alone."""
    resize_to: int | None = None
    """Of an elastic job: the most slices that its next attempt takes."""
    done_ms: int = 0
    """How long the work took, on the most slices that it accepts, of which its ended attempts have committed all."""
    without_progress: int = 0
    """Ended attempts in a row that committed no new step, of programs that report steps."""
    committed_step: int | None = None
    """The newest committed step when the last attempt ended."""
    reason: Reason | None = None
    message: str = ""
    """For a waiting job: why it is not running. For an ended one: what happened, in a sentence."""
    owner: str | None = None
    origin: JobId | None = None
    """The job that this one is a retry or a clone of."""
    array: ArrayPlace | None = None

    @property
    def gated(self) -> bool:
        """Whether it has to be let into the queue."""
        return bool(self.spec.after.each) or self.array is not None


@dataclass(frozen=True, slots=True)
class Stop:
    """An order to end an attempt."""

    reason: Reason
    grace_ms: int
    at_ms: int
    resize_to: int | None = None
    """With reason `resized`: the number of slices to go on with."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a job's whole gang on named slices. Ends once, with one reason."""

    id: AttemptId
    job_id: JobId
    number: int
    cluster_id: ClusterId
    slices: tuple[SliceId, ...]
    chips: int
    epoch: int
    """Of the leader that ordered it."""
    ordered_at_ms: int
    ready_at_ms: int | None = None
    stop: Stop | None = None
    detected_at_ms: int | None = None
    """When the supervisor knew that the gang was over."""
    last_sign_at_ms: int | None = None
    """The last sign of life of a lost host; detection took `detected_at_ms - last_sign_at_ms`."""
    ended_at_ms: int | None = None
    """When its slices were free again: every process gone."""
    reason: Reason | None = None
    cause: Cause | None = None

    @property
    def live(self) -> bool:
        return self.ended_at_ms is None


@dataclass(frozen=True, slots=True)
class RankStarted:
    """One rank's process."""

    rank: int
    slice_id: SliceId
    host: int
    pid: int
    started_at_ms: int


@dataclass(frozen=True, slots=True)
class Progress:
    """What the ranks of an attempt have reported; a measurement, never a decision."""

    attempt_id: AttemptId
    phase: str | None = None
    step: int | None = None
    total_steps: int | None = None
    committed_step: int | None = None
    resumed_step: int | None = None
    """The step that it restored; 0 if it began anew; None while it has not said."""
    first_step_at_ms: int | None = None
    last_report_at_ms: int | None = None
    committed_at_ms: int | None = None
    """When the loop had made the committed step."""


class SliceState(StrEnum):
    """Whether a slice may be offered. Busy or free follows from the live attempts."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Slice:
    """One physical slice, as its cluster last described it."""

    id: SliceId
    cluster_id: ClusterId
    pool: str
    shape: SliceShape
    capacity: str
    incarnation: str
    state: SliceState
    message: str
    updated_at_ms: int
    idle_since_ms: int | None = None
    """When the last attempt on it ended; None: there was none."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """One Ray cluster and when its process last spoke."""

    id: ClusterId
    seen_at_ms: int
    storage_fault: str | None = None
    """Why it cannot write checkpoints, as its newest probe found; None: it can, or has not tried yet."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of history, written in the transaction of its change. `kind` is stable; `message` is for people."""

    kind: str
    at_ms: int
    message: str
    job_id: JobId | None = None
    attempt_id: AttemptId | None = None
    slice_id: SliceId | None = None
    data: tuple[tuple[str, str | int | None], ...] = ()
    project: str | None = None
    """Whose members see it. An event of a job is seen by those of the job's project."""
    by: Actor | None = None
    """Who asked for the change; None: nobody, it happened."""
