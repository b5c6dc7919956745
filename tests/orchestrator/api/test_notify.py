"""A spec says who is told of its job: signed if it names a secret, logged, and shown without what keeps others out."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from orchestrator.chores.guard import PublicOnly
from orchestrator.chores.webhooks import Messenger
from tests.orchestrator.api.rig import SPEC, Rig

pytestmark = pytest.mark.anyio

URL = "https://hooks.example.org/services/T0/secret-part"


async def deliver(rig: Rig, address: str = "93.184.215.14") -> list[httpx.Request]:
    heard: list[httpx.Request] = []

    async def known(host: str, port: int) -> Sequence[str]:
        return [address]

    def take(request: httpx.Request) -> httpx.Response:
        heard.append(request)
        return httpx.Response(204)

    async with httpx.AsyncClient(transport=PublicOnly(httpx.MockTransport(take), known)) as http:
        await Messenger(rig.deps.database, rig.deps.clock, rig.deps.seal, http).run_once()
    return heard


async def test_those_whom_a_spec_names_hear_of_its_job_only(rig: Rig) -> None:
    await rig.user.put("/api/v1/projects/default/secrets/HOOK_KEY", json={"value": "the-key"})
    plain, signed = {"webhook": URL}, {"webhook": f"{URL}/2", "kinds": ["job."], "secret": "HOOK_KEY"}
    await rig.submit(name="other")
    job = await rig.submit(notify=[plain, signed])
    assert await deliver(rig) == []
    await rig.user.post(f"/api/v1/jobs/{job['id']}/cancel")
    await rig.tick()
    first, second, third = sorted(await deliver(rig), key=lambda request: (request.url.path, request.content))
    assert json.loads(first.content)["kind"] == "job.state"
    assert {json.loads(one.content)["job_id"] for one in (first, second, third)} == {job["id"]}
    assert "podwright-signature" not in first.headers
    expected = hmac.new(b"the-key", second.content, hashlib.sha256).hexdigest()
    assert second.headers["podwright-signature"] == f"sha256={expected}"
    log = (await rig.user.get(f"/api/v1/jobs/{job['id']}/notifications")).json()["items"]
    assert [(one["state"], one["status"]) for one in log] == [("delivered", 204)] * 3
    assert await deliver(rig) == []


async def test_the_address_is_shown_without_its_path_and_a_clone_still_has_it(rig: Rig) -> None:
    job = await rig.submit(notify=[{"webhook": URL}])
    assert job["spec"]["notify"][0]["webhook"] == "https://hooks.example.org/********"
    clone = (await rig.user.post(f"/api/v1/jobs/{job['id']}/clone")).json()
    await rig.user.post(f"/api/v1/jobs/{clone['id']}/cancel")
    await rig.tick()
    [request] = await deliver(rig)
    assert request.url.path == "/services/T0/secret-part"
    hooks = (await rig.user.get("/api/v1/projects/default/webhooks")).json()["items"]
    assert hooks == [], "they are the job's, not the project's"


async def test_an_address_of_our_own_network_is_refused_and_the_log_says_so(rig: Rig) -> None:
    job = await rig.submit(notify=[{"webhook": URL}])
    await rig.user.post(f"/api/v1/jobs/{job['id']}/cancel")
    await rig.tick()
    assert await deliver(rig, "169.254.169.254") == []
    [tried] = (await rig.user.get(f"/api/v1/jobs/{job['id']}/notifications")).json()["items"]
    assert (tried["state"], tried["status"]) == ("pending", None)
    assert "is not an address on the internet" in tried["error"]


@pytest.mark.parametrize(
    ("notify", "path"),
    [
        ({"webhook": "ftp://x"}, "notify[0].webhook"),
        ({"webhook": "https://user:password@x"}, "notify[0].webhook"),
        ({"webhook": "https://x/" + "y" * 2000}, "notify[0].webhook"),
        ({"webhook": "https://x", "kinds": []}, "notify[0].kinds"),
        ({"webhook": "https://x", "kinds": ["JOB"]}, "notify[0].kinds[0]"),
        ({"webhook": "https://x", "secret": "NONE"}, "notify[0].secret"),
        ({"webhook": "https://x", "wehbook": ""}, "notify[0].wehbook"),
        ({}, "notify[0].webhook"),
    ],
)
async def test_what_cannot_be_told_is_refused_by_its_path(rig: Rig, notify: dict[str, Any], path: str) -> None:
    answer = await rig.user.post("/api/v1/jobs", json=SPEC | {"notify": [notify]})
    assert answer.status_code == 422
    assert [one["path"] for one in answer.json()["errors"]] == [path]


async def test_more_than_a_few_are_refused(rig: Rig) -> None:
    answer = await rig.user.post("/api/v1/jobs", json=SPEC | {"notify": [{"webhook": "https://x"}] * 11})
    assert answer.json()["errors"][0]["path"] == "notify"
