"""Tokens, what they reach, what is kept of who did what; secrets; failed logins."""

import asyncio

import pytest
from sqlalchemy import text

from orchestrator.api.events import follow
from orchestrator.api.logins import ALLOWED
from orchestrator.store.commands.tokens import token_hash
from orchestrator.store.queries.tokens import owner
from tests.orchestrator.api.people import OURS, THEIRS, add_project, add_user, caller, token_of
from tests.orchestrator.api.rig import ADMIN, SPEC, Rig

pytestmark = pytest.mark.anyio


async def test_a_token_is_shown_once_and_kept_as_a_hash(rig: Rig) -> None:
    await add_user(rig, "ann")
    token = await token_of(rig, "ann", "read")
    shown = [(await rig.user.get(path)).text for path in ("/api/v1/tokens", "/api/v1/events")]
    assert not any(token in body for body in shown)
    async with rig.deps.database.read() as tx:
        rows = (await tx.ask(text("SELECT * FROM tokens"))).all()
    assert token not in str(rows)


async def test_expired_revoked_and_disabled_tokens_open_nothing(rig: Rig) -> None:
    await add_user(rig, "ann")
    brief = await token_of(rig, "ann", expires_in_s=1)
    revoked, left = await token_of(rig, "ann"), await token_of(rig, "ann")
    async with rig.caller(revoked) as who:
        mine = (await who.get("/api/v1/me")).json()
        assert mine["name"] == "ann"
        assert (await who.delete(f"/api/v1/tokens/{mine['token_id']}")).status_code == 204
        assert (await who.get("/api/v1/me")).status_code == 401
    await asyncio.sleep(1.1)
    async with rig.caller(brief) as who:
        assert (await who.get("/api/v1/me")).status_code == 401
    await rig.user.patch("/api/v1/users/ann", json={"disabled": True})
    async with rig.caller(left) as who:
        assert (await who.get("/api/v1/me")).status_code == 401


async def test_the_last_use_of_a_token_is_known(rig: Rig) -> None:
    await add_user(rig, "ann")
    async with await caller(rig, "ann") as who:
        await who.get("/api/v1/me")
        (token,) = (await who.get("/api/v1/tokens")).json()["items"]
    assert token["last_used_at_ms"] >= token["created_at_ms"]


async def test_no_token_makes_one_that_can_do_more(rig: Rig) -> None:
    await add_user(rig, "ann")
    await add_user(rig, "bob")
    async with await caller(rig, "ann", "read") as who:
        assert (await who.post("/api/v1/tokens", json={"name": "x", "scope": "write"})).status_code == 403
        assert (await who.post("/api/v1/tokens", json={"name": "x", "user": "bob", "scope": "read"})).status_code == 403
        assert (await who.post("/api/v1/tokens", json={"name": "x", "kind": "cluster"})).status_code == 403


async def test_every_change_is_kept_with_who_asked_for_it_and_from_where(rig: Rig) -> None:
    await add_project(rig, OURS)
    await add_user(rig, "ann", "submitter")
    async with await caller(rig, "ann") as who:
        job = (await who.post("/api/v1/jobs", json=SPEC | {"project": OURS})).json()
        assert job["owner"] == "ann"
        await who.post(f"/api/v1/jobs/{job['id']}/cancel")
        found = (await who.get("/api/v1/events", params={"actor": "ann"})).json()["items"]
    assert [(event["kind"], event["actor"]) for event in found] == [
        ("job.submitted", "ann"),
        ("job.cancel_requested", "ann"),
    ]
    assert {event["address"] for event in found} == {"127.0.0.1"}
    admins = (await rig.user.get("/api/v1/events", params={"actor": "tests"})).json()["items"]
    assert {"project.added", "user.added", "member.put", "token.created"} <= {event["kind"] for event in admins}


async def test_a_stream_shows_only_what_its_caller_may_see_and_ends_with_their_rights(rig: Rig) -> None:
    for project in (OURS, THEIRS):
        await add_project(rig, project)
    await add_user(rig, "ann", "viewer")
    token = await token_of(rig, "ann")
    async with rig.deps.database.read() as tx:
        found = await owner(tx, token, rig.deps.clock.now_ms())
    assert found is not None
    assert found.caller is not None
    stream = follow(rig.deps, None, 0, found.caller)
    await rig.submit(name="foreign", project=THEIRS)
    await rig.submit(name="mine", project=OURS)
    seen = ""
    while "mine" not in seen:
        seen += (await anext(stream)).data or ""
    assert "foreign" not in seen
    await rig.user.delete(f"/api/v1/projects/{OURS}/members/ann")
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(anext(stream), 5)


async def test_a_secret_is_nowhere_but_in_the_orders(rig: Rig) -> None:
    value = "S3CR3T-xyz"
    path = "/api/v1/projects/default/secrets"
    assert (await rig.user.post("/api/v1/jobs", json=SPEC | {"secrets": ["HF_TOKEN"]})).status_code == 422
    await rig.user.put(f"{path}/HF_TOKEN", json={"value": value})
    await rig.running(secrets=["HF_TOKEN"])
    (run,) = (await rig.cluster.get("/api/v1/link/orders")).json()["runs"]
    assert run["env_vars"] == {"HF_TOKEN": value}
    paths = [path, "/api/v1/jobs/toy", "/api/v1/jobs", "/api/v1/events", "/api/v1/jobs/toy/attempts"]
    shown = [(await rig.user.get(one)).text for one in paths]
    assert not any(value in text for text in shown)
    async with rig.deps.database.read() as tx:
        dump = str((await tx.ask(text("SELECT * FROM secrets"))).all())
    assert value not in dump
    assert (await rig.user.put(f"{path}/HF_TOKEN", json={"value": 7})).status_code == 422


async def test_an_address_that_guesses_is_told_to_wait_and_others_are_not(rig: Rig) -> None:
    async with rig.caller("pwt_guess") as stranger:
        answers = [(await stranger.get("/api/v1/me")).status_code for _ in range(ALLOWED + 2)]
        assert answers == [401] * ALLOWED + [429] * 2
        assert (await stranger.get("/api/v1/me")).headers["retry-after"] == "60"
    assert (await rig.user.get("/api/v1/me")).status_code == 429  # not seen before from here
    rig.deps.logins.succeeded(token_hash(ADMIN))
    assert (await rig.user.get("/api/v1/me")).status_code == 200
