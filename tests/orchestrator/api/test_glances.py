"""What the list of jobs shows: search, how many in each state, and of some jobs how far they are."""

import json
from typing import Any

import pytest

from tests.orchestrator.api.people import add_project, add_user, caller
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio


def spool(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"at_ms": 5, **record}).encode() + b"\n" for record in records)


async def names(rig: Rig, **query: Any) -> list[str]:
    answer = await rig.user.get("/api/v1/jobs", params=query)
    assert answer.status_code == 200, answer.text
    return [job["name"] for job in answer.json()["items"]]


async def test_search_finds_parts_of_names_and_takes_wildcards_as_they_are(rig: Rig) -> None:
    for name in ("llama-8b", "gemma-2b", "llama-70b", "gemma_2b"):
        await rig.submit(name=name)
    assert await names(rig, search="LLama") == ["llama-70b", "llama-8b"]
    assert await names(rig, search="a_2") == ["gemma_2b"]
    assert await names(rig, search="%") == []
    assert len(await names(rig, search="default")) == 4
    assert await names(rig, search="llama", state=["RUNNING", "HELD"]) == []
    assert await names(rig, search="llama", state=["RUNNING", "QUEUED"]) == ["llama-70b", "llama-8b"]


async def test_counts_are_of_the_jobs_that_the_list_would_show(rig: Rig) -> None:
    await add_project(rig, "theirs")
    await add_user(rig, "ann", "viewer", "default")
    for name, project in (("a", "default"), ("b", "default"), ("a", "theirs")):
        await rig.submit(name=name, project=project)
    async with await caller(rig, "ann") as ann:
        mine = (await ann.get("/api/v1/jobs/counts")).json()
    assert (mine["total"], mine["by_state"]["QUEUED"], mine["by_state"]["FAILED"]) == (2, 2, 0)
    assert (await rig.user.get("/api/v1/jobs/counts", params={"search": "a", "project": "theirs"})).json()["total"] == 1


async def test_a_glance_has_the_outline_of_a_curve_and_when_its_steps_will_be_done(rig: Rig) -> None:
    attempt_id = (await rig.running())["attempt"]["id"]
    steps = range(1, 1_001)
    await rig.post(
        attempt_id,
        spool(
            {"type": "checkpoint", "event": "fresh", "step": 0, "path": ""},
            *({"type": "metrics", "at_ms": 1_000 * n, "step": n, "values": {"loss": 1 / n}} for n in steps),
            *({"type": "progress", "at_ms": 1_000 * n, "step": n, "total_steps": 2_000} for n in steps),
        ),
    )
    job = await rig.job()
    body = (await rig.user.get("/api/v1/jobs/glances", params={"id": [job["id"], "job_none"]})).json()
    (glance,) = body["items"]
    assert 30 <= len(glance["steps"]) <= 41
    assert (glance["steps"][0], glance["steps"][-1], glance["values"][-1]) == (1, 1_000, 0.001)
    assert glance["progress"]["step"] == 1_000
    assert glance["last_step_at_ms"] == 2_000_000
    other = (await rig.user.get("/api/v1/jobs/glances", params={"id": job["id"], "series": "nothing"})).json()
    assert other["items"][0]["steps"] == []


async def test_occupancy_says_who_holds_which_slices_of_the_jobs_that_one_sees(rig: Rig) -> None:
    job = await rig.running()
    await add_project(rig, "theirs")
    await add_user(rig, "ann", "viewer", "theirs")
    (stay,) = (await rig.user.get("/api/v1/occupancy")).json()["items"]
    assert (stay["job_id"], stay["slices"], stay["until_ms"]) == (job["id"], ["pool-0"], None)
    async with await caller(rig, "ann") as ann:
        assert (await ann.get("/api/v1/occupancy")).json()["items"] == []
