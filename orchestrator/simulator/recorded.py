"""The recorded history of a live system as a trace: the answer of `podwright jobs list --json`, or of the API."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.simulator.trace import BadTrace, TraceJob


def read_recorded(path: Path) -> tuple[TraceJob, ...]:
    """Jobs that ran and ended, by submit time; `slices` are the choices that they named, best first.

    A job's duration is the time from its first start to its end: the API's list does not tell the waits between its
    attempts, so a restarted job counts as longer than its work.

    Raises:
        BadTrace: the file is not such an answer, or no job in it ran.
    """
    try:
        answer: Any = json.loads(path.read_text(encoding="utf-8"))
        listed = answer["items"] if isinstance(answer, dict) else answer
        jobs = [_job(job) for job in listed if job["started_at_ms"] is not None and job["ended_at_ms"] is not None]
    except (ValueError, KeyError, TypeError) as error:
        raise BadTrace(f"{path.name} is not what `podwright jobs list --json` prints: {error!r}") from None
    if not jobs:
        raise BadTrace(f"{path.name} holds no job that ran and ended")
    first = min(job.submit_ms for job in jobs)
    rebased = (
        TraceJob(job.id, job.submit_ms - first, job.chips, job.duration_ms, job.user, None, job.slices, job.priority)
        for job in jobs
    )
    return tuple(sorted(rebased, key=lambda job: job.submit_ms))


def _job(answer: Mapping[str, Any]) -> TraceJob:
    return TraceJob(
        id=answer["id"],
        submit_ms=answer["created_at_ms"],
        chips=1,
        duration_ms=max(1, answer["ended_at_ms"] - answer["started_at_ms"]),
        user=answer["project"],
        slices=answer["slices"][0],
        priority=answer["priority"],
    )
