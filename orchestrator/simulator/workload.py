"""From a trace's jobs to specs, as a user would have submitted them."""

import re
from enum import StrEnum

from orchestrator.domain.gates import NO_DEPENDENCIES, Dependencies
from orchestrator.domain.program import Program
from orchestrator.domain.spec import UNKNOWN, JobSpec
from orchestrator.domain.topology import SliceShape
from orchestrator.simulator.fleet import request
from orchestrator.simulator.trace import TraceJob

Pools = tuple[tuple[SliceShape, int], ...]


class Estimates(StrEnum):
    """What the scheduler is told about how long a job runs."""

    EXACT = "exact"
    USER = "user"
    """The trace's own requests; exact where there is none."""
    LEARNED = "learned"
    """Nothing: it has to learn from like jobs."""


def spec_of(job: TraceJob, pools: Pools, estimates: Estimates, after: Dependencies = NO_DEPENDENCIES) -> JobSpec | None:
    """The job's spec; None if it is larger than every pool."""
    slices = job.slices
    if slices is None:
        wants = request(job.chips, pools)
        if wants is None:
            return None
        slices = str(wants)
    return JobSpec(
        name="trace",
        program=Program(command=("sleep", f"{job.duration_ms / 1000}")),
        slices=slices,
        project=project_name(job.user),
        priority=job.priority,
        expected_runtime=_expected(job, estimates),
        capacity=job.capacity,
        after=after,
    )


def project_name(user: str) -> str:
    """A trace's user as a project: lower case, and what a project's name may not hold becomes a dash."""
    return re.sub(r"[^a-z0-9._-]+", "-", user.lower()).strip("._-")[:63] or "nobody"


def _expected(job: TraceJob, estimates: Estimates) -> str:
    match estimates:
        case Estimates.LEARNED:
            return UNKNOWN
        case Estimates.USER if job.estimate_ms:
            span_ms = job.estimate_ms
        case _:
            span_ms = job.duration_ms
    seconds, ms = divmod(span_ms, 1000)
    return f"{seconds}s{ms}ms"
