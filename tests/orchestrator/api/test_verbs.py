"""Hold, release, priorities, clones, retries, many at once; gates before the queue; versions."""

from typing import Any

import pytest

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import AttemptId
from orchestrator.protocol import GangEnded
from tests.builders import NOW
from tests.orchestrator.api.rig import SPEC, Rig

pytestmark = pytest.mark.anyio


async def ask(rig: Rig, job: str, verb: str, status: int = 202, **request: Any) -> dict[str, Any]:
    answer = await rig.user.post(f"/api/v1/jobs/{job}/{verb}", **request)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


async def state(rig: Rig, job: str) -> str:
    return str((await rig.job(job))["state"])


async def end(rig: Rig, job: str) -> None:
    """Its gang stops, as told."""
    attempt = (await rig.job(job))["attempt"]
    stop = attempt["stop"]["reason"] if attempt["stop"] else "slice_lost"
    await rig.tell(GangEnded("gang_ended", AttemptId(attempt["id"]), stop, "", (), NOW, NOW))
    await rig.tick()


async def test_a_waiting_job_is_held_and_released(rig: Rig) -> None:
    job = (await rig.submit())["id"]
    await ask(rig, job, "hold")
    await rig.tick()
    assert (await state(rig, job), (await rig.job(job))["message"]) == ("HELD", "held by its owner")
    await rig.slice_up()
    await rig.tick()
    assert await state(rig, job) == "HELD"
    await ask(rig, job, "release")
    await rig.tick()
    assert await state(rig, job) == "STARTING"


async def test_a_running_job_that_is_held_stops_and_goes_on_after_its_release(rig: Rig) -> None:
    job = (await rig.running())["id"]
    await ask(rig, job, "hold")
    await rig.tick()
    assert (await rig.job(job))["attempt"]["stop"]["reason"] == "held"
    await end(rig, job)
    assert await state(rig, job) == "HELD"
    await ask(rig, job, "release")
    await rig.tick()
    assert (await rig.job(job))["attempts"] == 2
    assert (await rig.job(job))["charges"] == {"failures": 0, "stalls": 0, "preemptions": 0, "infra": 0}


async def test_a_held_job_can_be_cancelled(rig: Rig) -> None:
    job = (await rig.submit())["id"]
    await ask(rig, job, "hold")
    await rig.tick()
    await ask(rig, job, "cancel")
    await rig.tick()
    assert await state(rig, job) == "CANCELLED"
    assert await ask(rig, job, "hold", 409)


async def test_another_priority_changes_who_goes_first(rig: Rig) -> None:
    first, second = (await rig.submit())["id"], (await rig.submit())["id"]
    assert (await ask(rig, second, "priority", json={"priority": "production/3"}))["priority"] == "production/3"
    assert await ask(rig, second, "priority", 422, json={"priority": "highest"})
    await rig.slice_up()
    assert (await state(rig, first), await state(rig, second)) == ("QUEUED", "STARTING")


async def test_a_change_of_what_was_changed_since_is_refused(rig: Rig) -> None:
    job = (await rig.submit())["id"]
    seen = (await rig.user.get(f"/api/v1/jobs/{job}")).headers["etag"]
    await ask(rig, job, "hold", headers={"If-Match": seen})
    problem = await ask(rig, job, "release", 412, headers={"If-Match": seen})
    assert problem["type"] == "urn:podwright:problem:stale"
    assert await ask(rig, job, "release", 422, headers={"If-Match": "yesterday"})
    await ask(rig, job, "release", headers={"If-Match": "*"})


async def test_a_clone_keeps_what_views_mask(rig: Rig) -> None:
    job = (await rig.submit(env_vars={"API_TOKEN": "S3CR3T"}))["id"]
    clone = await ask(rig, job, "clone", 201, json={"changes": {"name": "copy"}})
    assert (clone["name"], clone["origin"], clone["spec"]["env_vars"]) == ("copy", job, {"API_TOKEN": "********"})
    await ask(rig, job, "cancel")
    await rig.slice_up()
    await rig.tick()
    (run,) = (await rig.cluster.get("/api/v1/link/orders")).json()["runs"]
    assert run["env_vars"] == {"API_TOKEN": "S3CR3T"}
    assert await ask(rig, job, "clone", 422, json={"changes": {"nmae": "x"}})


async def test_only_what_has_ended_is_retried_and_the_two_are_linked(rig: Rig) -> None:
    job = (await rig.submit())["id"]
    await ask(rig, job, "retry", 409)
    await ask(rig, job, "cancel")
    await rig.tick()
    key = {"Idempotency-Key": "again"}
    again = await ask(rig, job, "retry", 201, headers=key)
    assert (again["origin"], again["state"]) == (job, "QUEUED")
    assert (await ask(rig, job, "retry", 200, headers=key))["id"] == again["id"]


async def test_a_list_is_submitted_whole_or_not_at_all(rig: Rig) -> None:
    bad = await rig.user.post("/api/v1/jobs/bulk", json={"jobs": [SPEC, SPEC | {"slices": "v5e:3x3"}]})
    assert (bad.status_code, bad.json()["errors"][0]["path"]) == (422, "jobs[1].slices")
    assert await rig.job_count() == 0
    key = {"Idempotency-Key": "k"}
    made = [await rig.user.post("/api/v1/jobs/bulk", json={"jobs": [SPEC] * 3}, headers=key) for _ in range(2)]
    assert made[0].json()["items"] == made[1].json()["items"]
    assert await rig.job_count() == 3


async def test_many_are_asked_by_filter_after_a_dry_run(rig: Rig) -> None:
    for name in ("a", "b", "b"):
        await rig.submit(name=name)
    body = {"verb": "cancel", "which": {"name": "b"}, "dry_run": True}
    dry = (await rig.user.post("/api/v1/jobs/ask", json=body)).json()
    assert (dry["dry_run"], len(dry["asked"])) == (True, 2)
    await rig.tick()
    assert [job["state"] for job in (await rig.user.get("/api/v1/jobs")).json()["items"]] == ["QUEUED"] * 3
    real = (await rig.user.post("/api/v1/jobs/ask", json=body | {"dry_run": False})).json()
    assert real["asked"] == dry["asked"]
    await rig.tick()
    states = {job["name"]: job["state"] for job in (await rig.user.get("/api/v1/jobs")).json()["items"]}
    assert states == {"a": "QUEUED", "b": "CANCELLED"}
    assert (await rig.user.post("/api/v1/jobs/ask", json={"verb": "cancel", "which": {}})).status_code == 422


@pytest.mark.parametrize(("on", "becomes"), [("success", "FAILED"), ("failure", "BLOCKED"), ("end", "QUEUED")])
async def test_a_dependent_job_waits_and_follows_the_end_of_the_other(rig: Rig, on: str, becomes: str) -> None:
    first = (await rig.submit(name="first"))["id"]
    never = (await rig.submit(name="never"))["id"]
    after = {"any": [{"job": "first", "on": on}, {"job": never, "on": "failure"}]}
    if on == "success":
        after = {"all": [{"job": "first", "on": on}]}
    waiting = await rig.submit(name="second", after=after)
    assert waiting["state"] == "BLOCKED"
    await rig.tick()
    assert first in (await rig.job("second"))["message"]
    await ask(rig, first, "cancel")
    await rig.tick()
    await rig.tick()
    second = await rig.job("second")
    assert second["state"] == becomes
    if becomes == "FAILED":
        assert second["reason"] == Reason.DEPENDENCY_FAILED
        assert "ended CANCELLED" in second["message"]


async def test_a_dependency_has_to_be_there(rig: Rig) -> None:
    answer = await rig.user.post("/api/v1/jobs", json=SPEC | {"after": {"all": [{"job": "nobody"}]}})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "after.all[0].job")


async def test_an_array_lets_in_at_most_so_many_at_once(rig: Rig) -> None:
    body = {"spec": SPEC, "grid": {"env_vars.A": ["1", "2"], "env_vars.B": ["x", "y"]}, "at_once": 3}
    array = (await rig.user.post("/api/v1/arrays", json=body)).json()
    await rig.tick()
    listed = (await rig.user.get(f"/api/v1/arrays/{array['id']}")).json()
    assert listed["states"] == {"QUEUED": 3, "BLOCKED": 1}
    jobs = (await rig.user.get("/api/v1/jobs", params={"array": array["id"], "order": "oldest"})).json()["items"]
    assert [job["array_index"] for job in jobs] == [0, 1, 2, 3]
    assert (await rig.job(jobs[2]["id"]))["spec"]["env_vars"] == {"A": "2", "B": "x"}
    await ask(rig, jobs[0]["id"], "cancel")
    await rig.tick()
    await rig.tick()
    assert await state(rig, jobs[3]["id"]) == "QUEUED"


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({}, ""),
        ({"grid": {}}, "grid"),
        ({"grid": {"env_vars.A": []}}, "grid"),
        ({"sets": [{"name.x": 1}]}, "name.x"),
        ({"sets": [{}, {"priority": "?"}]}, "jobs[1].priority"),
        ({"grid": {f"env_vars.{n}": ["1", "2"] for n in "abcdefghijk"}}, "grid"),
    ],
)
async def test_parameters_that_do_not_fit_are_refused(rig: Rig, parameters: dict[str, Any], path: str) -> None:
    answer = await rig.user.post("/api/v1/arrays", json={"spec": SPEC, **parameters})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, path)


@pytest.mark.parametrize("target", ["pools/pool", "slices/pool-0", "slices/pool-0/hosts/1"])
async def test_what_is_taken_out_gets_nothing_until_it_is_readmitted(rig: Rig, target: str) -> None:
    await rig.slice_up()
    taken = await rig.user.post(f"/api/v1/{target}/cordon", json={"reason": "a loose cable"})
    assert taken.json()["restriction"]["limit"] == "cordoned"
    await rig.submit()
    await rig.tick()
    assert await state(rig, "toy") == "QUEUED"
    (shown,) = (await rig.user.get("/api/v1/slices")).json()["items"]
    assert shown["restriction"]["reason"] == "a loose cable"
    await rig.user.post(f"/api/v1/{target}/readmit", json={"reason": "fixed"})
    await rig.tick()
    assert await state(rig, "toy") == "STARTING"
    again = await rig.user.post(f"/api/v1/{target}/readmit", json={"reason": "fixed"})
    assert again.status_code == 409


async def test_a_drained_slice_loses_its_gang_uncharged(rig: Rig) -> None:
    job = (await rig.running())["id"]
    await rig.user.post("/api/v1/slices/pool-0/drain", json={"reason": "maintenance"})
    await rig.tick()
    assert (await rig.job(job))["attempt"]["stop"]["reason"] == "evicted"
    await end(rig, job)
    assert (await state(rig, job), (await rig.job(job))["charges"]["preemptions"]) == ("QUEUED", 0)
