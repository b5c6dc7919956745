"""Tell webhooks of events: queue a delivery for each, sign and POST it, and try again later what was not taken.

At least once: an answer that is lost makes a repeat, which the receiver knows by `Podwright-Event`.
"""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import httpx

from orchestrator.clock import Clock
from orchestrator.domain.errors import Unavailable
from orchestrator.store.commands import webhooks as commands
from orchestrator.store.database import Database
from orchestrator.store.queries import events, webhooks
from orchestrator.store.queries.events import Recorded
from orchestrator.store.queries.webhooks import Delivery, Webhook
from orchestrator.store.sealing import Seal

FIRST_PAUSE_MS: Final = 5_000
MOST_TRIES: Final = 10
"""The pause doubles: the last try comes 43 minutes after the first."""
TIMEOUT_S: Final = 10.0
_AT_ONCE: Final = 50
_EVENTS_AT_ONCE: Final = 500


def signature(key: str, body: str) -> str:
    return "sha256=" + hmac.new(key.encode(), body.encode(), hashlib.sha256).hexdigest()


def body_of(recorded: Recorded) -> str:
    """The event as a receiver sees it."""
    event = recorded.event
    told: dict[str, Any] = {
        "id": recorded.id,
        "kind": event.kind,
        "at_ms": event.at_ms,
        "project": event.project,
        "job_id": event.job_id,
        "attempt_id": event.attempt_id,
        "message": event.message,
        "data": dict(event.data),
    }
    return json.dumps(told, allow_nan=False)


def after_try(tried: Delivery, status: int | None, error: str | None, now_ms: int) -> Delivery:
    """The delivery after one more try: 2xx is delivered; else it is tried again, each time after twice the pause."""
    tries = tried.tries + 1
    done = replace(tried, tries=tries, status=status, error=error, at_ms=now_ms, next_at_ms=None)
    if status is not None and 200 <= status < 300:
        return replace(done, state="delivered")
    if tries >= MOST_TRIES:
        return replace(done, state="failed")
    return replace(done, next_at_ms=now_ms + FIRST_PAUSE_MS * 2 ** (tries - 1))


class Messenger:
    """Delivers while its process leads."""

    def __init__(self, database: Database, clock: Clock, seal: Seal, http: httpx.AsyncClient) -> None:
        self._database = database
        self._clock = clock
        self._seal = seal
        self._http = http

    async def run_once(self) -> int:
        """Queue what is new, try what is due; how many deliveries were tried."""
        async with self._database.read() as tx:
            hear_all = await webhooks.of_projects(tx)
            of_jobs = await webhooks.of_jobs_to_hear(tx, _EVENTS_AT_ONCE)
        for hook in hear_all:
            await self._queue(hook)
        if of_jobs:
            await self._queue_of_jobs(of_jobs)
        async with self._database.read() as tx:
            due = await webhooks.due(tx, self._clock.now_ms(), _AT_ONCE)
            known = await webhooks.by_ids(tx, {one.webhook_id for one in due})
        tried = await asyncio.gather(*(self._try(one, known[one.webhook_id]) for one in due if one.webhook_id in known))
        if tried:
            async with self._database.write_beside() as tx:
                for one in tried:
                    await commands.record(tx, one)
        return len(tried)

    async def _queue(self, to: Webhook) -> None:
        async with self._database.read() as tx:
            found = await events.since(tx, to.after_event, None, _EVENTS_AT_ONCE, (to.project,))
        if found:
            bodies = [(one.id, body_of(one)) for one in found if to.hears(one.event.kind)]
            async with self._database.write_beside() as tx:
                await commands.queue(tx, to, bodies, found[-1].id, self._clock.now_ms())

    async def _queue_of_jobs(self, found: Sequence[tuple[Webhook, int]]) -> None:
        async with self._database.read() as tx:
            recorded = await events.by_ids(tx, {event_id for _, event_id in found})
        grouped: dict[str, tuple[Webhook, list[int]]] = {}
        for hook, event_id in found:
            grouped.setdefault(hook.id, (hook, []))[1].append(event_id)
        async with self._database.write_beside() as tx:
            for hook, ids in grouped.values():
                heard = [recorded[one] for one in ids if one in recorded and hook.hears(recorded[one].event.kind)]
                bodies = [(one.id, body_of(one)) for one in heard]
                await commands.queue(tx, hook, bodies, ids[-1], self._clock.now_ms())

    async def _try(self, delivery: Delivery, to: Webhook) -> Delivery:
        headers = {
            "Content-Type": "application/json",
            "Podwright-Event": str(delivery.event_id),
        }
        try:
            if to.sealed_key:
                headers["Podwright-Signature"] = signature(self._seal.unseal(to.sealed_key), delivery.body)
            answer = await self._http.post(to.url, content=delivery.body, headers=headers, timeout=TIMEOUT_S)
        except (httpx.HTTPError, httpx.InvalidURL, Unavailable) as error:
            return after_try(delivery, None, f"{type(error).__name__}: {error}"[:500], self._clock.now_ms())
        return after_try(delivery, answer.status_code, None, self._clock.now_ms())
