"""Why attempts end: one row per reason. Outcome, charge and retry follow from the row; nobody sets FAILED by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Budget(StrEnum):
    """What a restart is charged to. Each has its own limit in the spec's `retry`."""

    FAILURES = "failures"
    STALLS = "stalls"
    PREEMPTIONS = "preemptions"
    INFRA = "infra"


class Reason(StrEnum):
    """Why an attempt, or a job that never had one, ended."""

    COMPLETED = "completed"
    PROGRAM_ERROR = "program_error"
    HOST_OOM = "host_oom"
    NAN_LOSS = "nan_loss"
    HBM_OOM = "hbm_oom"
    INVALID_PROGRAM = "invalid_program"
    STALLED = "stalled"
    INIT_TIMEOUT = "init_timeout"
    PREEMPTED = "preempted"
    HOST_LOST = "host_lost"
    SLICE_LOST = "slice_lost"
    EVICTED = "evicted"
    RESIZED = "resized"
    PORT_CLASH = "port_clash"
    LAUNCH_FAILED = "launch_failed"
    STORAGE_UNAVAILABLE = "storage_unavailable"
    DISK_FULL = "disk_full"
    NO_PROGRESS = "no_progress"
    NOTHING_RESTORABLE = "nothing_restorable"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    HELD = "held"
    DEPENDENCY_FAILED = "dependency_failed"
    UNSCHEDULABLE = "unschedulable"


class Outcome(StrEnum):
    """What the job becomes when this ending is final."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    NONE = "none"
    """Never final: the job always goes on."""


@dataclass(frozen=True, slots=True)
class Ending:
    """One way to end."""

    reason: Reason
    outcome: Outcome
    charges: Budget | None
    """The budget that a restart draws on; None with `retries` means that it is free."""
    retries: bool
    says: str


ENDINGS: Final[Mapping[Reason, Ending]] = MappingProxyType(
    {
        ending.reason: ending
        for ending in (
            Ending(Reason.COMPLETED, Outcome.SUCCEEDED, None, False, "every rank exited 0"),
            Ending(Reason.PROGRAM_ERROR, Outcome.FAILED, Budget.FAILURES, True, "the program ended with an error"),
            Ending(Reason.HOST_OOM, Outcome.FAILED, Budget.FAILURES, True, "a host ran out of memory"),
            Ending(Reason.NAN_LOSS, Outcome.FAILED, Budget.FAILURES, True, "the loss was not a finite number"),
            Ending(Reason.HBM_OOM, Outcome.FAILED, None, False, "the program does not fit the chips' memory"),
            Ending(Reason.INVALID_PROGRAM, Outcome.FAILED, None, False, "the program cannot run as it is"),
            Ending(Reason.STALLED, Outcome.FAILED, Budget.STALLS, True, "no step was made in time"),
            Ending(Reason.INIT_TIMEOUT, Outcome.FAILED, Budget.STALLS, True, "not all ranks joined in time"),
            Ending(Reason.PREEMPTED, Outcome.FAILED, Budget.PREEMPTIONS, True, "the provider took the slice"),
            Ending(Reason.HOST_LOST, Outcome.FAILED, Budget.PREEMPTIONS, True, "a host of the slice was lost"),
            Ending(Reason.SLICE_LOST, Outcome.FAILED, Budget.PREEMPTIONS, True, "the slice was lost"),
            Ending(
                Reason.EVICTED,
                Outcome.NONE,
                None,
                True,
                "the scheduler took its slices for another use",
            ),
            Ending(Reason.RESIZED, Outcome.NONE, None, True, "the job goes on with another number of slices"),
            Ending(Reason.PORT_CLASH, Outcome.FAILED, Budget.INFRA, True, "the coordinator's port was taken"),
            Ending(Reason.LAUNCH_FAILED, Outcome.FAILED, Budget.INFRA, True, "a rank could not be launched"),
            Ending(Reason.STORAGE_UNAVAILABLE, Outcome.FAILED, Budget.INFRA, True, "the checkpoints' storage failed"),
            Ending(Reason.DISK_FULL, Outcome.FAILED, Budget.INFRA, True, "a host's disk was full"),
            Ending(Reason.NO_PROGRESS, Outcome.FAILED, None, False, "restarts in a row committed no new step"),
            Ending(Reason.NOTHING_RESTORABLE, Outcome.FAILED, None, False, "no committed checkpoint could be restored"),
            Ending(Reason.TIMEOUT, Outcome.FAILED, None, False, "max_runtime passed"),
            Ending(Reason.CANCELLED, Outcome.CANCELLED, None, False, "cancelled"),
            Ending(Reason.HELD, Outcome.NONE, None, True, "its owner holds it"),
            Ending(Reason.DEPENDENCY_FAILED, Outcome.FAILED, None, False, "a job that it waited for ended otherwise"),
            Ending(Reason.UNSCHEDULABLE, Outcome.FAILED, None, False, "max_wait passed before slices were free"),
        )
    }
)


def ending(reason: Reason) -> Ending:
    """The row of `reason`; every reason has one (a test walks them)."""
    return ENDINGS[reason]
