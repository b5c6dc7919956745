"""Webhooks are told of their project's events, signed, until they take them; what is old is swept away."""

import hashlib
import hmac
import json

import httpx
import pytest

from orchestrator.chores.sweep import Sweeper
from orchestrator.chores.webhooks import FIRST_PAUSE_MS, MOST_TRIES, Messenger, after_try
from orchestrator.store.commands.retention import Kept
from orchestrator.store.queries.webhooks import Delivery
from tests.contracts.clock import ManualClock
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio

HOOKS = "/api/v1/projects/default/webhooks"


class Receiver:
    """Somebody else's server."""

    def __init__(self) -> None:
        self.status = 200
        self.heard: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.heard.append(request)
        return httpx.Response(self.status)


async def test_a_webhook_hears_signed_what_it_asked_for_and_until_it_takes_it(rig: Rig) -> None:
    receiver, clock = Receiver(), ManualClock(rig.deps.clock.now_ms())
    made = (await rig.user.post(HOOKS, json={"url": "http://receiver/hook", "kinds": ["job."]})).json()
    await rig.user.post("/api/v1/projects", json={"name": "foreign"})
    await rig.submit(project="foreign")
    await rig.submit(name="mine")
    async with httpx.AsyncClient(transport=httpx.MockTransport(receiver)) as http:
        messenger = Messenger(rig.deps.database, clock, rig.deps.seal, http)
        receiver.status = 500
        clock.advance(1_000)
        assert await messenger.run_once() == 1
        assert await messenger.run_once() == 0
        receiver.status = 204
        clock.advance(FIRST_PAUSE_MS)
        assert await messenger.run_once() == 1
        assert await messenger.run_once() == 0
    first, second = receiver.heard
    assert first.content == second.content
    assert json.loads(first.content)["message"] == "mine was submitted"
    signed = hmac.new(made["key"].encode(), first.content, hashlib.sha256).hexdigest()
    assert second.headers["podwright-signature"] == f"sha256={signed}"
    (delivery,) = (await rig.user.get(f"{HOOKS}/{made['id']}/deliveries")).json()["items"]
    assert (delivery["state"], delivery["tries"], delivery["status"]) == ("delivered", 2, 204)
    assert made["key"] not in (await rig.user.get(HOOKS)).text


def test_a_delivery_is_given_up_after_the_last_try_and_pauses_double() -> None:
    delivery, pauses = Delivery(1, "hook_1", 1, "{}", "pending", 0, 0, None, None, 0), []
    for _ in range(MOST_TRIES):
        delivery = after_try(delivery, 503, None, now_ms=0)
        pauses.append(delivery.next_at_ms)
    assert pauses == [FIRST_PAUSE_MS * 2**n for n in range(MOST_TRIES - 1)] + [None]
    assert delivery.state == "failed"


async def test_only_what_is_older_than_the_settings_say_is_swept_away(rig: Rig) -> None:
    job = await rig.running()
    attempt = job["attempt"]["id"]
    await rig.post(attempt, b"a line\n", stream="stdout")
    await rig.post(attempt, b'{"type": "metrics", "at_ms": 5, "step": 1, "values": {"loss": 1.0}}\n')
    async with rig.deps.database.write() as tx:
        await tx.connection.exec_driver_sql("UPDATE attempts SET ended_at_ms = 1, reason = 'preempted'")
    clock = ManualClock(rig.deps.clock.now_ms())
    kept = Kept(events_ms=60_000, metrics_ms=60_000, logs_ms=None)
    assert await Sweeper(rig.deps.database, rig.deps.blobs, clock, kept).run_once() == 1  # the point
    assert (await rig.user.get("/api/v1/jobs/toy/metrics")).json()["items"] == []
    assert len((await rig.user.get("/api/v1/jobs/toy/events")).json()["items"]) == 2
    clock.advance(61_000)
    kept = Kept(events_ms=60_000, metrics_ms=None, logs_ms=60_000)
    await Sweeper(rig.deps.database, rig.deps.blobs, clock, kept).run_once()
    assert (await rig.user.get("/api/v1/jobs/toy/events")).json()["items"] == []
    assert (await rig.user.get("/api/v1/jobs/toy/logs/raw")).content == b""
