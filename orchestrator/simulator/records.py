"""What a simulation leaves behind: one record per job, one per run of a gang, and the cost of what went wrong."""

from dataclasses import dataclass, field

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import JobId, SliceId
from orchestrator.domain.lifecycle import JobState


@dataclass(slots=True)
class JobRecord:
    """How one job fared. Times since the trace's start, in milliseconds."""

    id: JobId
    user: str
    chips: int
    submit_ms: int
    duration_ms: int
    first_start_ms: int | None = None
    end_ms: int | None = None
    state: JobState = JobState.QUEUED
    held_ms: int = 0
    """Time on slices, all attempts together."""
    preemptions: int = 0
    evictions: int = 0
    resizes: int = 0

    @property
    def completion_ms(self) -> int:
        """From submit to end. Only of a job that ended."""
        if self.end_ms is None:
            raise ValueError(f"job {self.id} has not ended")
        return self.end_ms - self.submit_ms

    @property
    def waiting_ms(self) -> int:
        """Time from submit to end without slices."""
        return self.completion_ms - self.held_ms


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt on its slices."""

    job_id: JobId
    user: str
    slices: tuple[SliceId, ...]
    chips: int
    since_ms: int
    until_ms: int
    reason: Reason


@dataclass(slots=True)
class Outcome:
    """The result of a simulation."""

    jobs: dict[JobId, JobRecord]
    slices: tuple[SliceId, ...]
    chips: int
    """Of the whole fleet."""
    runs: list[Run] = field(default_factory=list)
    lost_chip_ms: int = 0
    """Work that had to be done again, and the starts of attempts that did not end their job."""
    unfit: int = 0
    """Jobs of the trace that are larger than the fleet and were left out."""
    ticks: int = 0

    @property
    def ended(self) -> list[JobRecord]:
        return [job for job in self.jobs.values() if job.state is JobState.SUCCEEDED]
