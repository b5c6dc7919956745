"""The life of a job, as one table. Nothing else says which change of state is legal."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from orchestrator.domain.errors import IllegalTransition


class JobState(StrEnum):
    """Where a job is. Upper case on every wire and screen."""

    BLOCKED = "BLOCKED"
    """It waits for other jobs, or for its turn in its array."""
    HELD = "HELD"
    """Its owner keeps it back."""
    QUEUED = "QUEUED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class JobEvent(StrEnum):
    """What can happen to a job's state."""

    UNBLOCKED = "unblocked"
    """All that it waited for has happened."""
    HELD = "held"
    RELEASED = "released"
    """It is no longer held, and passes the gates anew."""
    PLACED = "placed"
    """The scheduler gave it slices: an attempt begins."""
    GANG_READY = "gang_ready"
    """Every rank of the attempt has a process."""
    STOP_ORDERED = "stop_ordered"
    """Its live attempt was told to end: cancelled, out of time, evicted."""
    COMPLETED = "completed"
    RETRIED = "retried"
    """Its attempt ended and another may follow."""
    GAVE_UP = "gave_up"
    CANCELLED = "cancelled"


ACTIVE: Final = frozenset({JobState.STARTING, JobState.RUNNING, JobState.STOPPING})
"""A live attempt holds slices."""

WAITING: Final = frozenset({JobState.BLOCKED, JobState.HELD, JobState.QUEUED})
"""Nothing runs, and something may yet."""

TERMINAL: Final = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
"""For ever: nothing leaves these."""

TRANSITIONS: Final[Mapping[tuple[JobState, JobEvent], JobState]] = MappingProxyType(
    {
        (JobState.BLOCKED, JobEvent.UNBLOCKED): JobState.QUEUED,
        (JobState.BLOCKED, JobEvent.HELD): JobState.HELD,
        (JobState.BLOCKED, JobEvent.GAVE_UP): JobState.FAILED,  # dependency_failed
        (JobState.BLOCKED, JobEvent.CANCELLED): JobState.CANCELLED,
        (JobState.HELD, JobEvent.RELEASED): JobState.BLOCKED,
        (JobState.HELD, JobEvent.GAVE_UP): JobState.FAILED,  # out of time
        (JobState.HELD, JobEvent.CANCELLED): JobState.CANCELLED,
        (JobState.QUEUED, JobEvent.HELD): JobState.HELD,
        (JobState.QUEUED, JobEvent.PLACED): JobState.STARTING,
        (JobState.QUEUED, JobEvent.GAVE_UP): JobState.FAILED,  # unschedulable
        (JobState.QUEUED, JobEvent.CANCELLED): JobState.CANCELLED,
        (JobState.STARTING, JobEvent.GANG_READY): JobState.RUNNING,
        (JobState.STARTING, JobEvent.STOP_ORDERED): JobState.STOPPING,
        (JobState.STARTING, JobEvent.RETRIED): JobState.QUEUED,
        (JobState.STARTING, JobEvent.GAVE_UP): JobState.FAILED,
        (JobState.RUNNING, JobEvent.STOP_ORDERED): JobState.STOPPING,
        (JobState.RUNNING, JobEvent.COMPLETED): JobState.SUCCEEDED,
        (JobState.RUNNING, JobEvent.RETRIED): JobState.QUEUED,
        (JobState.RUNNING, JobEvent.GAVE_UP): JobState.FAILED,
        (JobState.STOPPING, JobEvent.COMPLETED): JobState.SUCCEEDED,  # it was done before the stop reached it
        (JobState.STOPPING, JobEvent.RETRIED): JobState.QUEUED,
        (JobState.STOPPING, JobEvent.HELD): JobState.HELD,
        (JobState.STOPPING, JobEvent.GAVE_UP): JobState.FAILED,
        (JobState.STOPPING, JobEvent.CANCELLED): JobState.CANCELLED,
    }
)


def advance(state: JobState, event: JobEvent) -> JobState:
    """The state after `event`.

    Raises:
        IllegalTransition: the table does not hold the pair.
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise IllegalTransition(f"a job that is {state} cannot be {event}") from None


def can(state: JobState, event: JobEvent) -> bool:
    """Whether the table holds the pair."""
    return (state, event) in TRANSITIONS
