"""Make webhooks, queue what they have to hear, and keep how each delivery went."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, insert, update

from orchestrator.domain.access import Actor
from orchestrator.domain.job import Event
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.queries.webhooks import Delivery, Webhook
from orchestrator.store.schema import deliveries, webhooks


async def add_webhook(tx: WriteTx, new: Webhook, by: Actor) -> None:
    await tx.tell(insert(webhooks).values(_row(new)))
    said = f"webhook {new.id} was added"
    await events.append(tx, [Event("webhook.added", new.created_at_ms, said, project=new.project, by=by)])


async def add_of_job(tx: WriteTx, new: Sequence[Webhook]) -> None:
    """Those of one job's spec; its submission is the event that tells of them."""
    if new:
        await tx.tell(insert(webhooks), [_row(one) for one in new])


def _row(new: Webhook) -> dict[str, Any]:
    return {
        "id": new.id,
        "project": new.project,
        "url": new.url,
        "kinds": " ".join(new.kinds),
        "sealed_key": new.sealed_key,
        "after_event": new.after_event,
        "created_at_ms": new.created_at_ms,
        "job_id": new.job_id,
    }


async def remove_webhook(tx: WriteTx, gone: Webhook, now_ms: int, by: Actor) -> None:
    """Its log goes with it."""
    await tx.tell(delete(deliveries).where(deliveries.c.webhook_id == gone.id))
    await tx.tell(delete(webhooks).where(webhooks.c.id == gone.id))
    said = f"webhook {gone.id} was removed"
    await events.append(tx, [Event("webhook.removed", now_ms, said, project=gone.project, by=by)])


async def queue(tx: WriteTx, to: Webhook, bodies: Sequence[tuple[int, str]], up_to: int, now_ms: int) -> None:
    """Queue a delivery for each event (id, body); events up to `up_to` have then been looked at."""
    rows = [
        {
            "webhook_id": to.id,
            "event_id": event_id,
            "body": body,
            "state": "pending",
            "tries": 0,
            "next_at_ms": now_ms,
            "at_ms": now_ms,
        }
        for event_id, body in bodies
    ]
    await tx.add_new(deliveries, rows)
    await tx.tell(update(webhooks).where(webhooks.c.id == to.id).values(after_event=up_to))


async def record(tx: WriteTx, tried: Delivery) -> None:
    """Keep how a delivery went."""
    values = {
        "state": tried.state,
        "tries": tried.tries,
        "next_at_ms": tried.next_at_ms,
        "status": tried.status,
        "error": tried.error,
        "at_ms": tried.at_ms,
    }
    await tx.tell(update(deliveries).where(deliveries.c.row_id == tried.row_id).values(values))
