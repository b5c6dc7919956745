"""A job whose stored spec this version refuses: shown, kept from running, refused when it is submitted anew."""

import json

import pytest
from sqlalchemy import text

from orchestrator.protocol import GangEnded
from tests.builders import NOW
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio


async def age(rig: Rig, job_id: str, **changes: object) -> None:
    """As if an earlier version had taken this."""
    async with rig.deps.database.write() as tx:
        [stored] = (await tx.ask(text("SELECT spec FROM jobs WHERE id = :id").bindparams(id=job_id))).scalars()
        aged = json.dumps(json.loads(stored) | changes)
        await tx.ask(text("UPDATE jobs SET spec = :spec WHERE id = :id").bindparams(spec=aged, id=job_id))


async def test_it_is_shown_and_ends_with_the_cause_while_others_run(rig: Rig) -> None:
    await rig.slice_up()
    old = await rig.submit(name="old", env_vars={"MY_TOKEN": "hidden"})
    await age(rig, old["id"], max_runtime="1y", unknown_to_us=7)
    await rig.submit(name="new")
    seen = await rig.job(old["id"])
    assert (seen["name"], seen["spec"]["max_runtime"], seen["spec"]["unknown_to_us"]) == ("old", "1y", 7)
    assert seen["spec"]["env_vars"] == {"MY_TOKEN": "********"}
    assert len((await rig.user.get("/api/v1/jobs")).json()["items"]) == 2
    await rig.tick()
    [run] = (await rig.cluster.get("/api/v1/link/orders")).json()["runs"]
    assert run["impossible"].startswith("this version does not take the job's spec")
    await rig.tell(GangEnded("gang_ended", run["attempt_id"], "invalid_program", run["impossible"], (), NOW, NOW))
    await rig.tick()
    ended = await rig.job(old["id"])
    assert (ended["state"], ended["reason"]) == ("FAILED", "invalid_program")
    await rig.tick()
    assert (await rig.job("new"))["state"] == "STARTING"


async def test_it_can_be_submitted_anew_only_when_it_is_mended(rig: Rig) -> None:
    old = await rig.submit(name="old")
    await age(rig, old["id"], max_runtime="1y")
    path = f"/api/v1/jobs/{old['id']}"
    refused = await rig.user.post(f"{path}/clone")
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "spec.max_runtime")
    mended = await rig.user.post(f"{path}/clone", json={"changes": {"max_runtime": "1d"}})
    assert mended.status_code == 201
    await rig.user.post(f"{path}/cancel")
    await rig.tick()
    assert (await rig.job(old["id"]))["state"] == "CANCELLED"
    assert (await rig.user.post(f"{path}/retry")).status_code == 422
