"""Slices that are out for maintenance, and slices that are suspect: declared or recorded, told, and kept to."""

import pytest

from orchestrator.protocol import GangEnded
from tests.builders import an_exit
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio

URL = "/api/v1/maintenance"
HOUR = 3_600_000


def out(rig: Rig, since_h: float = -1, until_h: float = 4, **fields) -> dict[str, object]:
    now = rig.deps.clock.now_ms()
    span = {"since_ms": now + int(since_h * HOUR), "until_ms": now + int(until_h * HOUR)}
    return {"name": "pool-0", "reason": "new fans", **span, **fields}


async def declare(rig: Rig, **fields) -> str:
    answer = await rig.user.post(URL, json=out(rig, **fields))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_nothing_starts_on_a_slice_that_is_out_until_it_is_back(rig: Rig) -> None:
    await rig.slice_up()
    id = await declare(rig)
    (listed,) = (await rig.user.get(URL)).json()["items"]
    assert (listed["id"], listed["target"], listed["reason"], listed["actor"]) == (id, "slice", "new fans", "tests")
    await rig.submit()
    await rig.tick()
    job = await rig.job()
    assert job["state"] == "QUEUED"
    assert "1 out for maintenance" in job["message"]
    assert (await rig.user.delete(f"{URL}/{id}")).status_code == 204
    await rig.tick()
    assert (await rig.job())["state"] == "STARTING"
    events = (await rig.user.get("/api/v1/events")).json()["items"]
    kinds = [event["kind"] for event in events if event["kind"].startswith("maintenance")]
    assert kinds == ["maintenance.declared", "maintenance.withdrawn"]


@pytest.mark.parametrize(("runtime", "state"), [("1h", "STARTING"), ("3h", "QUEUED"), (None, "QUEUED")])
async def test_a_job_starts_before_a_window_only_if_it_is_done_by_then(rig, runtime, state) -> None:
    await rig.slice_up()
    await declare(rig, since_h=2, target="pool", name="pool")
    await rig.submit(**({"expected_runtime": runtime} if runtime else {}))
    await rig.tick()
    assert (await rig.job())["state"] == state


async def test_what_runs_when_a_window_opens_is_asked_to_save_and_go(rig: Rig) -> None:
    await rig.running()
    await declare(rig, since_h=1 / 60)
    await rig.tick()
    job = await rig.job()
    assert (job["state"], job["attempt"]["stop"]["reason"]) == ("STOPPING", "evicted")


@pytest.mark.parametrize(
    ("changed", "path", "says"),
    [
        ({"name": "nowhere"}, "name", "there is pool-0"),
        ({"target": "host"}, "target", "'slice' or 'pool'"),
        ({"until_h": -2}, "until_ms", "must be after since_ms"),
        ({"since_h": -5, "until_h": -4}, "until_ms", "is over already"),
        ({"until_h": 9000}, "until_ms", "at most 366 days"),
        ({"reason": ""}, "reason", "at least 1 character"),
        ({"since_ms": -1}, "since_ms", "greater than or equal to 0"),
        ({"why": "x"}, "why", ""),
    ],
)
async def test_what_cannot_be_is_refused_by_its_field(rig, changed, path, says) -> None:
    await rig.slice_up()
    answer = await rig.user.post(URL, json=out(rig, **changed))
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["path"].removeprefix("body.") == path
    assert says in fault["message"]


async def test_what_was_never_declared_cannot_be_withdrawn(rig: Rig) -> None:
    assert (await rig.user.delete(f"{URL}/mnt_none")).status_code == 404


async def test_a_slice_that_lost_an_attempt_is_used_last_and_says_so(rig: Rig) -> None:
    running = await rig.running(name="lost")
    attempt = running["attempt"]["id"]
    await rig.slice_up("pool-1")
    lost = an_exit(1, lost=True)
    await rig.tell(GangEnded("gang_ended", attempt, None, "", (lost,), 1, 2))
    await rig.user.post("/api/v1/jobs/lost/hold")
    await rig.tick()
    await rig.slice_up("pool-0")  # its host was replaced
    told = {one["id"]: one["suspicion"] for one in (await rig.user.get("/api/v1/slices")).json()["items"]}
    assert told == {"pool-0": "lost an attempt once lately, the last as host_lost", "pool-1": None}
    for name, slice_id in (("first", "pool-1"), ("second", "pool-0")):  # where no sound one is left it is used
        await rig.submit(name=name)
        await rig.tick()
        assert (await rig.job(name))["attempt"]["slices"] == [slice_id]
