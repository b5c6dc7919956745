"""Rows to domain records and back. Structured fields that nobody asks by are kept as JSON text."""

from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy import RowMapping

from orchestrator.domain.access import Actor
from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import ArrayId, AttemptId, ClusterId, JobId, SliceId
from orchestrator.domain.incident import Cause
from orchestrator.domain.job import (
    ArrayPlace,
    Attempt,
    Charges,
    Cluster,
    Desired,
    Event,
    Job,
    Progress,
    RankStarted,
    Slice,
    SliceState,
    Stop,
)
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.masking import mask_tokens
from orchestrator.domain.spec import JobSpec
from orchestrator.domain.topology import SliceShape
from orchestrator.protocol import FactBody
from orchestrator.store.specs import SPEC, read_spec
from orchestrator.world import StoredFact

FACT_BODY: Final[TypeAdapter[FactBody]] = TypeAdapter(FactBody)
_CAUSE: Final = TypeAdapter(Cause)
_STOP: Final = TypeAdapter(Stop)
_SLICES: Final = TypeAdapter(tuple[SliceId, ...])
_DATA: Final = TypeAdapter(tuple[tuple[str, str | int | None], ...])


@lru_cache(maxsize=4096)
def _spec_with_priority(text: str, priority: str) -> JobSpec:
    return replace(read_spec(text), priority=priority)


def job_of(row: RowMapping) -> Job:
    return Job(
        id=JobId(row["id"]),
        spec=_spec_of(row),
        state=JobState(row["state"]),
        desired=Desired(row["desired"]),
        version=row["version"],
        created_at_ms=row["created_at_ms"],
        queued_at_ms=row["queued_at_ms"],
        started_at_ms=row["started_at_ms"],
        ended_at_ms=row["ended_at_ms"],
        not_before_ms=row["not_before_ms"],
        attempts=row["attempts"],
        charges=Charges(row["failures"], row["stalls"], row["preemptions"], row["infra"]),
        evictions=row["evictions"],
        resize_to=row["resize_to"],
        done_ms=row["done_ms"],
        without_progress=row["without_progress"],
        committed_step=row["committed_step"],
        reason=_reason(row["reason"]),
        message=row["message"],
        owner=row["owner"],
        origin=row["origin"],
        array=None
        if row["array_id"] is None
        else ArrayPlace(ArrayId(row["array_id"]), row["array_index"], row["array_limit"]),
    )


def _spec_of(row: RowMapping) -> JobSpec:
    """As submitted, with the priority that it has now."""
    if row["priority"] is None:
        return read_spec(row["spec"])
    return _spec_with_priority(row["spec"], row["priority"])


def job_state_row(job: Job) -> dict[str, Any]:
    """The columns that a tick may change."""
    return {
        "state": job.state.value,
        "desired": job.desired.value,
        "version": job.version,
        "queued_at_ms": job.queued_at_ms,
        "started_at_ms": job.started_at_ms,
        "ended_at_ms": job.ended_at_ms,
        "not_before_ms": job.not_before_ms,
        "attempts": job.attempts,
        "failures": job.charges.failures,
        "stalls": job.charges.stalls,
        "preemptions": job.charges.preemptions,
        "infra": job.charges.infra,
        "evictions": job.evictions,
        "resize_to": job.resize_to,
        "done_ms": job.done_ms,
        "without_progress": job.without_progress,
        "committed_step": job.committed_step,
        "reason": job.reason and job.reason.value,
        "message": job.message,
    }


def new_job_row(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "name": job.spec.name,
        "project": job.spec.project,
        "spec": SPEC.dump_json(job.spec).decode(),
        "created_at_ms": job.created_at_ms,
        "events": 0,
        "owner": job.owner,
        "origin": job.origin,
        "array_id": job.array and job.array.id,
        "array_index": job.array and job.array.index,
        "array_limit": job.array and job.array.limit,
        "bundle": job.spec.program.code,
        **job_state_row(job),
    }


def attempt_of(row: RowMapping) -> Attempt:
    return Attempt(
        id=AttemptId(row["id"]),
        job_id=JobId(row["job_id"]),
        number=row["number"],
        cluster_id=ClusterId(row["cluster_id"]),
        slices=_SLICES.validate_json(row["slices"]),
        chips=row["chips"],
        epoch=row["epoch"],
        ordered_at_ms=row["ordered_at_ms"],
        ready_at_ms=row["ready_at_ms"],
        stop=None if row["stop"] is None else _STOP.validate_json(row["stop"]),
        detected_at_ms=row["detected_at_ms"],
        last_sign_at_ms=row["last_sign_at_ms"],
        ended_at_ms=row["ended_at_ms"],
        reason=_reason(row["reason"]),
        cause=None if row["cause"] is None else _CAUSE.validate_json(row["cause"]),
    )


def attempt_row(attempt: Attempt) -> dict[str, Any]:
    return {
        "id": attempt.id,
        "job_id": attempt.job_id,
        "number": attempt.number,
        "cluster_id": attempt.cluster_id,
        "slices": _SLICES.dump_json(attempt.slices).decode(),
        "chips": attempt.chips,
        "epoch": attempt.epoch,
        "ordered_at_ms": attempt.ordered_at_ms,
        "ready_at_ms": attempt.ready_at_ms,
        "stop": None if attempt.stop is None else _STOP.dump_json(attempt.stop).decode(),
        "detected_at_ms": attempt.detected_at_ms,
        "last_sign_at_ms": attempt.last_sign_at_ms,
        "ended_at_ms": attempt.ended_at_ms,
        "reason": attempt.reason and attempt.reason.value,
        "cause": None if attempt.cause is None else _CAUSE.dump_json(attempt.cause).decode(),
    }


def slice_of(row: RowMapping) -> Slice:
    return Slice(
        id=SliceId(row["id"]),
        cluster_id=ClusterId(row["cluster_id"]),
        pool=row["pool"],
        shape=SliceShape.parse(row["shape"]),
        capacity=row["capacity"],
        incarnation=row["incarnation"],
        state=SliceState(row["state"]),
        message=row["message"],
        updated_at_ms=row["updated_at_ms"],
        idle_since_ms=row["idle_since_ms"],
    )


def slice_row(known: Slice) -> dict[str, Any]:
    return {
        "id": known.id,
        "cluster_id": known.cluster_id,
        "pool": known.pool,
        "shape": str(known.shape),
        "capacity": known.capacity,
        "incarnation": known.incarnation,
        "state": known.state.value,
        "message": known.message,
        "updated_at_ms": known.updated_at_ms,
    }


def cluster_of(row: RowMapping) -> Cluster:
    return Cluster(ClusterId(row["id"]), row["seen_at_ms"], row["storage_fault"])


def rank_of(row: RowMapping) -> RankStarted:
    return RankStarted(row["rank"], SliceId(row["slice_id"]), row["host"], row["pid"], row["started_at_ms"])


def progress_of(row: RowMapping) -> Progress:
    return Progress(
        attempt_id=AttemptId(row["attempt_id"]),
        phase=row["phase"],
        step=row["step"],
        total_steps=row["total_steps"],
        committed_step=row["committed_step"],
        resumed_step=row["resumed_step"],
        first_step_at_ms=row["first_step_at_ms"],
        last_report_at_ms=row["last_report_at_ms"],
        committed_at_ms=row["committed_at_ms"],
    )


def progress_row(report: Progress) -> dict[str, Any]:
    return asdict(report)


def fact_of(row: RowMapping) -> StoredFact:
    return StoredFact(row["row_id"], ClusterId(row["cluster_id"]), row["source"], FACT_BODY.validate_json(row["body"]))


def event_of(row: RowMapping) -> Event:
    return Event(
        kind=row["kind"],
        at_ms=row["at_ms"],
        message=row["message"],
        job_id=row["job_id"],
        attempt_id=row["attempt_id"],
        slice_id=row["slice_id"],
        data=_DATA.validate_json(row["data"]),
        project=row["project"],
        by=None if row["actor"] is None else Actor(row["actor"], row["address"]),
    )


def event_row(event: Event) -> dict[str, Any]:
    """All but the job's own number, which `commands.events` gives."""
    return {
        "job_id": event.job_id,
        "attempt_id": event.attempt_id,
        "slice_id": event.slice_id,
        "kind": event.kind,
        "at_ms": event.at_ms,
        "message": mask_tokens(event.message),
        "data": _DATA.dump_json(event.data).decode(),
        "project": event.project,
        "actor": event.by and event.by.name,
        "address": event.by and event.by.address,
    }


def _reason(text: str | None) -> Reason | None:
    return None if text is None else Reason(text)
