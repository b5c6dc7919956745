"""The history of a job as a list, and of all jobs as a stream (SSE) that goes on where the client left off."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel
from sse_starlette import EventSourceResponse, ServerSentEvent

from orchestrator.api.auth import User
from orchestrator.api.deps import Deps, WithDeps
from orchestrator.domain.access import Caller
from orchestrator.domain.errors import Fault, InvalidInput
from orchestrator.domain.ids import JobId
from orchestrator.store.queries import events, jobs
from orchestrator.store.queries.events import Recorded
from orchestrator.store.queries.tokens import still_holds

_AT_ONCE: Final = 500
_POLL_MS: Final = 1_000
"""How soon an event that another process wrote is seen; those of our own process ring."""

router = APIRouter(prefix="/api/v1", tags=["events"])

After = Annotated[int | None, Query(ge=0, le=2**63 - 1)]


class EventView(BaseModel):
    id: int
    sequence: int | None
    """Among the events of its job, from 1, without a gap."""
    kind: str
    at_ms: int
    message: str
    job_id: str | None
    attempt_id: str | None
    slice_id: str | None
    project: str | None
    actor: str | None
    """Who asked for the change; None: it happened."""
    address: str | None
    data: dict[str, str | int | None]

    @classmethod
    def of(cls, recorded: Recorded) -> "EventView":
        event = recorded.event
        return cls(
            id=recorded.id,
            sequence=recorded.sequence,
            kind=event.kind,
            at_ms=event.at_ms,
            message=event.message,
            job_id=event.job_id,
            attempt_id=event.attempt_id,
            slice_id=event.slice_id,
            project=event.project,
            actor=event.by.name if event.by else None,
            address=event.by.address if event.by else None,
            data=dict(event.data),
        )


class EventList(BaseModel):
    items: list[EventView]
    next_after: int | None
    """`after` of the next page; None when this is all there is by now."""


@router.get("/jobs/{job}/events")
async def list_events(
    job: str, who: User, deps: WithDeps, after: After = None, limit: Annotated[int, Query(ge=1, le=1000)] = 200
) -> EventList:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        listed = await events.since(tx, after or 0, found.id, limit)
    next_after = listed[-1].id if len(listed) == limit else None
    return EventList(items=[EventView.of(one) for one in listed], next_after=next_after)


@router.get("/events")
async def list_all_events(
    who: User,
    deps: WithDeps,
    kind: Annotated[str | None, Query(description="`user.` finds all kinds that begin so")] = None,
    actor: str | None = None,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> EventList:
    """The history of all that the caller may see, oldest first: also who changed what, and from where."""
    async with deps.database.read() as tx:
        listed = await events.since(tx, after or 0, None, limit, who.projects, kind=kind, actor=actor)
    next_after = listed[-1].id if len(listed) == limit else None
    return EventList(items=[EventView.of(one) for one in listed], next_after=next_after)


@router.get("/events/stream")
async def stream_events(
    who: User,
    deps: WithDeps,
    job: str | None = None,
    after: After = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventSourceResponse:
    """Begins after `Last-Event-ID` or `after`; else at a job's first event, or for all jobs at the present."""
    job_id, begin = await _beginning(deps, who, job, _last_seen(last_event_id, after))
    return EventSourceResponse(follow(deps, job_id, begin, who), ping=15)


async def _beginning(deps: Deps, who: Caller, job: str | None, seen: int | None) -> tuple[JobId | None, int]:
    async with deps.database.read() as tx:
        if job is not None:
            return (await jobs.find(tx, job, who.projects)).id, seen or 0
        return None, await events.last_id(tx) if seen is None else seen


def _last_seen(header: str | None, after: int | None) -> int | None:
    if header is None or not header:
        return after
    if not header.isascii() or not header.isdecimal() or len(header) > 18:
        raise InvalidInput((Fault("header.Last-Event-ID", "is not the id of an event of this stream"),))
    return int(header)


async def follow(deps: Deps, job_id: JobId | None, after: int, who: Caller) -> AsyncIterator[ServerSentEvent]:
    """Events after `after`, of one job or of all that the caller sees, as they are committed, until the server stops.

    A stream lasts as long as its caller's rights: it ends when they change, and the client comes again.
    """
    while not deps.stopping.is_set():
        ring = deps.database.commits.next_ring()
        async with deps.database.read() as tx:
            found = await events.since(tx, after, job_id, _AT_ONCE, who.projects)
            if not await still_holds(tx, who, deps.clock.now_ms()):
                return
        for recorded in found:
            yield _sent(recorded)
            after = recorded.id
        if not found:
            await deps.clock.wait(ring, _POLL_MS)


def _sent(recorded: Recorded) -> ServerSentEvent:
    shown: dict[str, Any] = EventView.of(recorded).model_dump(mode="json")
    return ServerSentEvent(json.dumps(shown, allow_nan=False), id=str(recorded.id), event="event")
