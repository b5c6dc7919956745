"""Why a job waits, when it will start and what would help: found out by the leader's chore, told by the API."""

from typing import Any

import pytest

from orchestrator.chores.outlooks import AGED_MS, Forecaster
from orchestrator.protocol import GangEnded
from orchestrator.scheduler.policy import DEFAULT
from tests.builders import an_exit
from tests.contracts.clock import ManualClock
from tests.orchestrator.api.people import add_project, add_user, caller
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio


@pytest.fixture
async def clock(rig: Rig) -> ManualClock:
    """A minute ahead of the server's; it stands still, so a round's budget is never spent."""
    return ManualClock(rig.deps.clock.now_ms() + 60_000)


@pytest.fixture
async def forecaster(rig: Rig, clock: ManualClock) -> Forecaster:
    return Forecaster(rig.deps.database, clock)


async def why(rig: Rig, job: str) -> dict[str, Any]:
    answer = await rig.user.get(f"/api/v1/jobs/{job}/why")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_job_that_waits_is_told_its_place_its_reasons_its_start_and_ways_out(rig, forecaster) -> None:
    running = await rig.running(name="first", expected_runtime="1h")
    await rig.submit(name="second", expected_runtime="1h")
    await rig.submit(name="third", expected_runtime="2h")
    await rig.tick()
    assert await forecaster.run_once() == 2
    second, third = await why(rig, "second"), await why(rig, "third")
    assert (second["place"], second["of"], third["place"]) == (1, 2, 2)
    (blocker,) = second["blockers"]
    assert (blocker["kind"], blocker["counts"]["free"], blocker["counts"]["needed"]) == ("busy", 0, 1)
    ordered = (await rig.job("first"))["attempt"]["ordered_at_ms"]
    assert second["start"]["at_ms"] == ordered + 3_600_000
    assert third["start"]["at_ms"] == ordered + 2 * 3_600_000
    assert third["start"]["earliest_ms"] < third["start"]["at_ms"] < third["start"]["latest_ms"]
    assert {"says": f"cancel first ({running['id']})", "jobs": [running["id"]]} in second["ways_out"]


async def test_a_job_that_does_not_wait_has_nothing_to_tell(rig, forecaster) -> None:
    await rig.running(name="first")
    await rig.submit(name="second")
    await rig.tick()
    await forecaster.run_once()
    await rig.user.post("/api/v1/jobs/second/cancel")
    await rig.tick()
    await forecaster.run_once()
    for job, state in (("first", "STARTING"), ("second", "CANCELLED")):
        told = await why(rig, job)
        assert (told["waits"], told["state"], told["blockers"], told["start"]) == (False, state, [], None)


@pytest.mark.parametrize(("verb", "kind"), [("hold", "held"), (None, "not_looked_at")])
async def test_a_job_that_no_scheduler_was_asked_about_still_has_its_reason(rig, verb, kind) -> None:
    await rig.submit(name="waits")
    if verb:
        await rig.user.post(f"/api/v1/jobs/waits/{verb}")
        await rig.tick()
    (blocker,) = (await why(rig, "waits"))["blockers"]
    assert blocker["kind"] == kind
    assert blocker["says"]


async def test_a_job_behind_a_gate_is_told_which(rig) -> None:
    await rig.submit(name="first")
    await rig.submit(name="waits", after={"all": [{"job": "first", "on": "success"}]})
    await rig.tick()
    (blocker,) = (await why(rig, "waits"))["blockers"]
    assert blocker["kind"] == "gate"


async def test_what_can_never_start_has_no_estimate_and_says_so(rig, forecaster) -> None:
    await rig.submit(name="waits")  # before any slice has come up
    await rig.tick()
    await forecaster.run_once()
    told = await why(rig, "waits")
    assert (told["start"], told["not_before_ms"], told["ways_out"]) == (None, None, [])
    assert told["as_of_ms"] is not None
    assert told["blockers"][0]["kind"] == "no_such_slices"


async def test_jobs_of_projects_that_one_does_not_see_are_not_named(rig, forecaster) -> None:
    for project in ("ours", "theirs"):
        await add_project(rig, project)
    running = await rig.running(name="first", project="theirs")
    await rig.submit(name="second", project="ours")
    await rig.tick()
    await forecaster.run_once()
    await add_user(rig, "ann", "viewer", "ours")
    async with await caller(rig, "ann") as ann:
        answer = await ann.get("/api/v1/jobs/second/why")
    assert "1 running jobs end, of projects that you do not see" in answer.text
    assert running["id"] not in answer.text


async def test_nothing_is_surveyed_twice_until_something_happens_or_it_has_aged(rig, forecaster, clock) -> None:
    await rig.running(name="first")
    await rig.submit(name="second")
    await rig.tick()
    assert [await forecaster.run_once() for _ in range(2)] == [1, 0]
    first = await why(rig, "second")
    clock.advance(AGED_MS)
    assert await forecaster.run_once() == 1
    assert (await why(rig, "second"))["as_of_ms"] == first["as_of_ms"] + AGED_MS
    await rig.submit(name="third")
    await rig.tick()
    assert await forecaster.run_once() == 2  # the second's place is now of two


async def test_a_long_queue_gets_its_ways_out_round_by_round(rig, clock) -> None:
    await rig.running(name="first")
    for number in range(3):
        await rig.submit(name=f"waits-{number}")
    await rig.tick()
    hasty = Forecaster(rig.deps.database, clock, budget_ms=0)  # one job in each round
    for tried in (1, 2, 3):
        await hasty.run_once()
        told = [(await why(rig, f"waits-{number}"))["ways_as_of_ms"] for number in range(3)]
        assert sum(at_ms is not None for at_ms in told) == tried


async def pool(rig: Rig) -> dict[str, Any]:
    (found,) = (await rig.user.get("/api/v1/pools")).json()["items"]
    return dict(found)


async def heard_of(rig: Rig) -> None:
    """The cluster's process goes on polling, whatever this test's clock says."""
    async with rig.deps.database.write() as tx:
        await tx.connection.exec_driver_sql("UPDATE clusters SET seen_at_ms = 9999999999999")


async def test_slices_are_wished_for_those_who_wait_and_idle_ones_are_let_go_again(rig, forecaster, clock) -> None:
    await rig.running(name="first")
    assert (await rig.user.put("/api/v1/pools/pool/limits", json={"least": 0, "most": 3})).status_code == 200
    assert ((await pool(rig))["limits"], (await pool(rig))["wish"]) == ({"least": 0, "most": 3}, None)
    for name in ("second", "third", "fourth"):
        await rig.submit(name=name)
    await rig.tick()
    await heard_of(rig)
    clock.advance(60_000)
    await forecaster.run_once()
    assert ((await pool(rig))["wish"]["ask"], (await pool(rig))["wish"]["let_go"]) == (2, [])
    for name in ("first", "second", "third", "fourth"):
        await rig.user.post(f"/api/v1/jobs/{name}/cancel")
    await rig.tick()
    attempt = (await rig.job("first"))["attempt"]["id"]
    now = rig.deps.clock.now_ms()
    await rig.tell(GangEnded("gang_ended", attempt, "cancelled", "", (an_exit(0, signal=15, ordered=True),), now, now))
    await rig.tick()
    await forecaster.run_once()
    assert (await pool(rig))["wish"]["ask"] == 0
    await heard_of(rig)
    clock.advance(DEFAULT.idle_after_ms)
    await forecaster.run_once()
    assert (await pool(rig))["wish"]["let_go"] == ["pool-0"]
    assert (await rig.user.delete("/api/v1/pools/pool/limits")).status_code == 204
    assert (await pool(rig))["limits"] is None


async def test_slices_that_are_known_and_not_there_are_not_asked_for_again(rig, forecaster, clock) -> None:
    await rig.slice_up()
    await rig.user.put("/api/v1/pools/pool/limits", json={"most": 3})
    await rig.submit()
    clock.advance(60_000)  # and with it the cluster has been silent for longer than is waited
    await forecaster.run_once()
    assert (await pool(rig))["wish"]["ask"] == 0


async def test_limits_of_what_is_not_there_or_the_wrong_way_round_are_refused(rig) -> None:
    await rig.slice_up()
    assert (await rig.user.put("/api/v1/pools/nowhere/limits", json={"most": 3})).status_code == 404
    answer = await rig.user.put("/api/v1/pools/pool/limits", json={"least": 4, "most": 3})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "least")
    assert (await rig.user.delete("/api/v1/pools/pool/limits")).status_code == 409
