"""What ranks wrote to stdout and stderr, byte for byte: base64 in JSON, because logs need not be text."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from orchestrator.api.auth import User
from orchestrator.api.deps import Deps, WithDeps
from orchestrator.domain.ids import JobId
from orchestrator.domain.job import Attempt, Job
from orchestrator.domain.lifecycle import TERMINAL
from orchestrator.store.blobs import log_name
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import jobs
from orchestrator.store.queries.reports import stored_offset

_LINGER_MS: Final = 2_500
"""Supervisors send once a second; so long after an attempt's end was recorded its last lines may be under way."""

_PART: Final = 1 << 20

router = APIRouter(prefix="/api/v1/jobs/{job}/logs", tags=["logs"])

Stream = Literal["stdout", "stderr"]
Place = Annotated[int, Query(ge=0, le=2**63 - 1)]


class LogView(BaseModel):
    attempt: int | None
    """None: the job has no attempt yet."""
    rank: int
    stream: str
    offset: int
    data: str
    """Base64."""
    next_offset: int
    ended: bool
    """Nothing will be added, and this reaches the end."""


@router.get("")
async def read_log(
    job: str,
    who: User,
    deps: WithDeps,
    attempt: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    rank: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    stream: Stream = "stdout",
    offset: Place = 0,
    limit: Annotated[int, Query(ge=1, le=1 << 20)] = 1 << 16,
) -> LogView:
    """At most `limit` bytes from `offset`, of the newest attempt unless one is named. Poll with `next_offset`."""
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        of = await _attempt(tx, found, attempt)
        closed_at_ms = None if of is None else await jobs.closed_at_ms(tx, of.id)
        stored = 0 if of is None else await stored_offset(tx, of.id, rank, stream)
    data = b"" if of is None else await _bytes(deps, found.id, of, rank, stream, offset, min(limit, stored - offset))
    at_end = offset + len(data) >= stored
    return LogView(
        attempt=None if of is None else of.number,
        rank=rank,
        stream=stream,
        offset=offset,
        data=base64.b64encode(data).decode(),
        next_offset=offset + len(data),
        ended=at_end and _is_over(found, of, closed_at_ms, deps.clock.now_ms()),
    )


@router.get("/raw", response_class=StreamingResponse, responses={200: {"content": {"application/octet-stream": {}}}})
async def download_log(
    job: str,
    who: User,
    deps: WithDeps,
    attempt: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    rank: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    stream: Stream = "stdout",
) -> StreamingResponse:
    """All that is stored by now, byte for byte."""
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        of = await _attempt(tx, found, attempt)
        stored = 0 if of is None else await stored_offset(tx, of.id, rank, stream)
    name = f"{found.id}-{of.number if of else 0}-{rank}.{stream}"
    return StreamingResponse(
        _whole(deps, found.id, of, rank, stream, stored),
        media_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"},
    )


async def _whole(
    deps: Deps, job_id: JobId, of: Attempt | None, rank: int, stream: str, stored: int
) -> AsyncIterator[bytes]:
    offset = 0
    while of is not None and offset < stored:
        part = await _bytes(deps, job_id, of, rank, stream, offset, min(_PART, stored - offset))
        if not part:
            return
        yield part
        offset += len(part)


async def _attempt(tx: ReadTx, job: Job, number: int | None) -> Attempt | None:
    if number is None and not job.attempts:
        return None
    return await jobs.attempt_by_number(tx, job.id, number)


async def _bytes(deps: Deps, job_id: JobId, of: Attempt, rank: int, stream: str, offset: int, limit: int) -> bytes:
    if limit <= 0:
        return b""
    # Never beyond the stored offset: bytes behind it were written, but may be written once more.
    return await asyncio.to_thread(deps.blobs.read, log_name(job_id, of.id, rank, stream), offset, limit)


def _is_over(job: Job, of: Attempt | None, closed_at_ms: int | None, now_ms: int) -> bool:
    if of is None:
        return job.state in TERMINAL
    return closed_at_ms is not None and now_ms >= closed_at_ms + _LINGER_MS
