"""Webhooks of a project: told of its events by signed POSTs, which are repeated until they are taken."""

import secrets
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.api.parameters import place
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.domain.access import Role
from orchestrator.store.commands import webhooks as commands
from orchestrator.store.queries import events, jobs, people, webhooks
from orchestrator.store.queries.webhooks import Delivery, Webhook

router = APIRouter(prefix="/api/v1/projects/{project}/webhooks", tags=["webhooks"], route_class=StrictRoute)
of_jobs = APIRouter(prefix="/api/v1/jobs/{job}/notifications", tags=["webhooks"])

Kind = Annotated[str, Field(pattern=r"^[a-z_.]{1,63}$")]


class NewWebhook(Asked):
    url: Annotated[str, Field(pattern=r"^https?://[^\s/@]+(/\S*)?$", max_length=2000)]
    kinds: Annotated[list[Kind], Field(max_length=20)] = []
    """Beginnings of kinds of events, as `job.state`; without any it hears of all."""


class WebhookView(BaseModel):
    id: str
    project: str
    url: str
    kinds: list[str]
    created_at_ms: int

    @classmethod
    def of(cls, known: Webhook) -> "WebhookView":
        return cls(
            id=known.id,
            project=known.project,
            url=known.url,
            kinds=list(known.kinds),
            created_at_ms=known.created_at_ms,
        )


class MadeWebhook(WebhookView):
    key: str
    """Shown here, once. `Podwright-Signature` is `sha256=` and the HMAC of the body under this key."""


class WebhookList(BaseModel):
    items: list[WebhookView]


class DeliveryView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    webhook_id: str
    event_id: int
    state: str
    """pending, delivered, or failed: given up."""
    tries: int
    next_at_ms: int | None
    status: int | None
    error: str | None
    at_ms: int


class DeliveryList(BaseModel):
    items: list[DeliveryView]
    next_cursor: str | None


@router.get("")
async def list_webhooks(project: str, who: User, deps: WithDeps) -> WebhookList:
    who.needs(Role.ADMIN, project)
    async with deps.database.read() as tx:
        await people.project(tx, project)
        found = await webhooks.webhooks_of(tx, project)
    return WebhookList(items=[WebhookView.of(one) for one in found])


@router.post("", status_code=201)
async def add_webhook(project: str, body: NewWebhook, who: User, deps: WithDeps) -> MadeWebhook:
    """It hears of what happens from now on."""
    who.needs(Role.ADMIN, project)
    key, now_ms = f"pws_{secrets.token_urlsafe(32)}", deps.clock.now_ms()
    async with deps.database.write() as tx:
        await people.project(tx, project)
        sealed, last = deps.seal.seal(key), await events.last_id(tx)
        new = Webhook(deps.new_id("hook"), project, body.url, tuple(body.kinds), sealed, last, now_ms)
        await commands.add_webhook(tx, new, who.actor)
    return MadeWebhook(key=key, **WebhookView.of(new).model_dump())


@router.delete("/{webhook}", status_code=204)
async def remove_webhook(project: str, webhook: str, who: User, deps: WithDeps) -> None:
    who.needs(Role.ADMIN, project)
    async with deps.database.write() as tx:
        known = await webhooks.webhook(tx, project, webhook)
        await commands.remove_webhook(tx, known, deps.clock.now_ms(), who.actor)


@router.get("/{webhook}/deliveries")
async def list_deliveries(
    project: str,
    webhook: str,
    who: User,
    deps: WithDeps,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> DeliveryList:
    """How each event was delivered, newest first."""
    who.needs(Role.ADMIN, project)
    async with deps.database.read() as tx:
        known = await webhooks.webhook(tx, project, webhook)
        found = await webhooks.deliveries_of(tx, [known.id], limit, place(cursor))
    return _page(found, limit)


@of_jobs.get("")
async def list_notifications(
    job: str,
    who: User,
    deps: WithDeps,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> DeliveryList:
    """How those whom the job's spec names were told, newest first."""
    async with deps.database.read() as tx:
        of_job = await webhooks.of_job(tx, (await jobs.find(tx, job, who.projects)).id)
        found = await webhooks.deliveries_of(tx, [one.id for one in of_job], limit, place(cursor))
    return _page(found, limit)


def _page(found: Sequence[Delivery], limit: int) -> DeliveryList:
    next_cursor = str(found[-1].row_id) if len(found) == limit else None
    return DeliveryList(items=[DeliveryView.model_validate(one) for one in found], next_cursor=next_cursor)
