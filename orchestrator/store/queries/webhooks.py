"""Webhooks, what they have still to hear, and how each delivery went."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import RowMapping, select

from orchestrator.domain.errors import NotFound
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import deliveries, events, webhooks


@dataclass(frozen=True, slots=True)
class Webhook:
    id: str
    project: str
    url: str
    kinds: tuple[str, ...]
    """Beginnings of the kinds of events that it hears of; empty: all."""
    sealed_key: str
    after_event: int
    created_at_ms: int
    job_id: str | None = None
    """It came with this job's spec, and hears of it only."""

    def hears(self, kind: str) -> bool:
        return not self.kinds or kind.startswith(self.kinds)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one webhook."""

    row_id: int
    webhook_id: str
    event_id: int
    body: str
    state: str
    tries: int
    next_at_ms: int | None
    status: int | None
    """Of the last answer; None: there was none."""
    error: str | None
    at_ms: int
    """When it was last tried, or made."""


async def webhooks_of(tx: ReadTx, project: str) -> tuple[Webhook, ...]:
    mine = (webhooks.c.project == project) & webhooks.c.job_id.is_(None)
    asked = select(webhooks).where(mine).order_by(webhooks.c.created_at_ms, webhooks.c.id)
    return tuple(_webhook(row) for row in (await tx.ask(asked)).mappings())


async def of_projects(tx: ReadTx) -> tuple[Webhook, ...]:
    """Those that hear of whole projects."""
    return tuple(
        _webhook(row) for row in (await tx.ask(select(webhooks).where(webhooks.c.job_id.is_(None)))).mappings()
    )


async def by_ids(tx: ReadTx, ids: Collection[str]) -> dict[str, Webhook]:
    """Those of them that are still there."""
    if not ids:
        return {}
    found = await tx.ask(select(webhooks).where(webhooks.c.id.in_(sorted(ids))))
    return {row["id"]: _webhook(row) for row in found.mappings()}


async def of_job(tx: ReadTx, job_id: str) -> tuple[Webhook, ...]:
    """Those that came with the job's spec, in its order."""
    found = await tx.ask(select(webhooks).where(webhooks.c.job_id == job_id).order_by(webhooks.c.id))
    return tuple(_webhook(row) for row in found.mappings())


async def of_jobs_to_hear(tx: ReadTx, limit: int) -> tuple[tuple[Webhook, int], ...]:
    """At most `limit` events (id) that webhooks of jobs have not looked at, oldest first; one question for all jobs."""
    both = webhooks.join(events, (events.c.job_id == webhooks.c.job_id) & (events.c.id > webhooks.c.after_event))
    asked = select(webhooks, events.c.id.label("event")).select_from(both).order_by(events.c.id, webhooks.c.id)
    return tuple((_webhook(row), row["event"]) for row in (await tx.ask(asked.limit(limit))).mappings())


async def webhook(tx: ReadTx, project: str, webhook_id: str) -> Webhook:
    """Raises NotFound if the project has no such webhook."""
    found = {one.id: one for one in await webhooks_of(tx, project)}
    if webhook_id not in found:
        raise NotFound(f"project {project} has no webhook {webhook_id[:80]!r}")
    return found[webhook_id]


async def deliveries_of(
    tx: ReadTx, webhook_ids: Collection[str], limit: int, before: int | None
) -> tuple[Delivery, ...]:
    """The newest first."""
    asked = select(deliveries).where(deliveries.c.webhook_id.in_(sorted(webhook_ids)))
    if before is not None:
        asked = asked.where(deliveries.c.row_id < before)
    found = await tx.ask(asked.order_by(deliveries.c.row_id.desc()).limit(limit))
    return tuple(Delivery(**row) for row in found.mappings())


async def due(tx: ReadTx, now_ms: int, limit: int) -> tuple[Delivery, ...]:
    """Deliveries whose time has come, oldest first."""
    asked = select(deliveries).where(deliveries.c.next_at_ms <= now_ms).order_by(deliveries.c.row_id).limit(limit)
    return tuple(Delivery(**row) for row in (await tx.ask(asked)).mappings())


def _webhook(row: RowMapping) -> Webhook:
    kinds = tuple(row["kinds"].split()) if row["kinds"] else ()
    return Webhook(
        row["id"],
        row["project"],
        row["url"],
        kinds,
        row["sealed_key"],
        row["after_event"],
        row["created_at_ms"],
        row["job_id"],
    )
