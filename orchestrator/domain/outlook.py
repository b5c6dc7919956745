"""What can be told of a waiting job: everything that stands in its way, when it will start, and what would help.

All times are wall-clock milliseconds.
"""

from dataclasses import dataclass

from orchestrator.domain.ids import JobId


@dataclass(frozen=True, slots=True)
class Blocker:
    """One thing that stands in a job's way: a word for programs, a sentence for people, and the numbers in it."""

    kind: str
    says: str
    counts: tuple[tuple[str, int], ...] = ()
    """By name: of slices, chips or jobs, as `kind` means."""


@dataclass(frozen=True, slots=True)
class StartEstimate:
    """When a job is likely to start."""

    at_ms: int
    earliest_ms: int
    latest_ms: int


@dataclass(frozen=True, slots=True)
class Way:
    """A change with which the job would have started, as it was tried on the world of that moment."""

    says: str
    jobs: tuple[JobId, ...] = ()
    """Whose end it is, if that is the change: they may belong to somebody else."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """One job's outlook, as of `at_ms`."""

    job_id: JobId
    at_ms: int
    place: int
    """In the order in which jobs are offered slices; the first is 1."""
    of: int
    """How many wait."""
    blockers: tuple[Blocker, ...]
    start: StartEstimate | None = None
    not_before_ms: int | None = None
    """Without an estimate: how far was looked ahead. None: nothing that is running would ever let it start."""
    ways: tuple[Way, ...] = ()
    ways_at_ms: int | None = None
    """When the ways out were tried; None: not yet."""
