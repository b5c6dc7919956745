"""Records with sensible defaults, so that a test names only what it is about."""

from dataclasses import replace
from typing import Any

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import AttemptId, ClusterId, JobId, SliceId
from orchestrator.domain.incident import RankExit
from orchestrator.domain.job import (
    Attempt,
    Cluster,
    Desired,
    Job,
    Progress,
    Slice,
    SliceState,
    Stop,
)
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.program import Program
from orchestrator.domain.spec import JobSpec
from orchestrator.domain.topology import SliceShape
from orchestrator.protocol import FactBody
from orchestrator.world import StoredFact, World

NOW = 1_000_000
LOCAL = ClusterId("local")


def a_spec(**fields: Any) -> JobSpec:
    return JobSpec(**({"name": "toy", "program": Program(command=("true",)), "slices": "v5e:2x4"} | fields))


def a_job(id: str = "job_1", state: JobState = JobState.QUEUED, at: int = NOW - 1000, **fields: Any) -> Job:
    """A job submitted a second ago; keys that a spec has go into its spec."""
    in_spec = {key: fields.pop(key) for key in tuple(fields) if key in JobSpec.__dataclass_fields__}
    job = Job(JobId(id), a_spec(**in_spec), state, Desired.RUN, 1, created_at_ms=at, queued_at_ms=at)
    if state is not JobState.QUEUED:
        job = replace(job, attempts=1, started_at_ms=at)
    return replace(job, **fields)


def an_attempt(job_id: str = "job_1", number: int = 1, slices: tuple[str, ...] = ("pool-0",), **fields: Any) -> Attempt:
    attempt = Attempt(
        AttemptId(f"att_{job_id}_{number}"),
        JobId(job_id),
        number,
        LOCAL,
        tuple(SliceId(s) for s in slices),
        chips=8 * len(slices),
        epoch=1,
        ordered_at_ms=NOW - 900,
    )
    return replace(attempt, **fields)


def a_stop(reason: Reason = Reason.CANCELLED) -> Stop:
    return Stop(reason, 30_000, NOW - 100)


def a_slice(id: str = "pool-0", shape: str = "v5e:2x4", state: SliceState = SliceState.UP, **fields: Any) -> Slice:
    made = Slice(SliceId(id), LOCAL, "pool", SliceShape.parse(shape), "spot", "inc-1", state, "", NOW - 5000)
    return replace(made, **fields)


def an_exit(rank: int = 0, code: int | None = None, **fields: Any) -> RankExit:
    """A rank's end on pool-0; without a code, a signal or a loss it exited 0."""
    if code is None and not fields.get("lost") and "signal" not in fields:
        code = 0
    end = RankExit(
        rank=rank,
        slice_id="pool-0",
        host=rank,
        exit_code=code,
        signal=None,
        lost=False,
        ordered=False,
        exited_at_ms=NOW,
        last_step=None,
        stderr_tail=(),
        claim=None,
    )
    return replace(end, **fields)


def a_world(
    *jobs: Job,
    attempts: tuple[Attempt, ...] = (),
    slices: tuple[Slice, ...] = (),
    facts: tuple[FactBody, ...] = (),
    progress: tuple[Progress, ...] = (),
    now: int = NOW,
    silent_ms: int = 0,
) -> World:
    """A world in which the cluster `local` spoke `silent_ms` ago."""
    return World(
        now_ms=now,
        epoch=1,
        jobs=jobs,
        attempts=attempts,
        progress={p.attempt_id: p for p in progress},
        slices=slices,
        clusters=(Cluster(LOCAL, now - silent_ms),),
        facts=tuple(StoredFact(i + 1, LOCAL, "source", body) for i, body in enumerate(facts)),
    )
