"""Spools as ranks write them, and what became of them."""

import json
from typing import Any

from orchestrator.domain.job import Attempt, Progress
from orchestrator.store.queries import events, metrics
from orchestrator.store.queries import jobs as job_queries
from tests.builders import NOW
from tests.contracts.stores import Store


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"at_ms": NOW, **record}).encode() + b"\n" for record in records)


def metric(step: int, **values: float | str) -> dict[str, Any]:
    return {"type": "metrics", "step": step, "values": values}


def saved(event: str, step: int, path: str = "a") -> dict[str, Any]:
    rest = {"step_at_ms": NOW - 5, "bytes": 9, "save_ms": 3, "blocked_ms": 1}
    return {"type": "checkpoint", "event": event, "step": step, "path": path, **rest}


async def points(store: Store, attempt: Attempt, number: int | None = None) -> list[tuple[int, int, int, float]]:
    """(step, attempt, rank, value) of the default series, or raw of one attempt."""
    async with store.database.read() as tx:
        raw = await metrics.raw_points(tx, attempt.job_id, ("loss",), number)
        resumed = await metrics.resumed_steps(tx, attempt.job_id)
    shown = raw if number is not None else metrics.joined(raw, resumed)
    return [(point.step, point.attempt, point.rank, point.value) for point in shown]


async def progress(store: Store, attempt: Attempt) -> Progress:
    async with store.database.read() as tx:
        return (await job_queries.progress_of(tx, [attempt.id]))[attempt.id]


async def kinds(store: Store, attempt: Attempt) -> list[str]:
    async with store.database.read() as tx:
        return [one.event.kind for one in await events.since(tx, 0, attempt.job_id, 100)]
