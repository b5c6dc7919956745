import asyncio
import json

import pytest

from orchestrator.api import link
from orchestrator.api.configs import whole_config
from orchestrator.domain.ids import AttemptId, SliceId
from orchestrator.domain.job import RankStarted
from orchestrator.protocol import (
    FACTS_POST,
    ORDERS,
    STORAGE_POST,
    VERSION,
    Fact,
    FactsPost,
    GangEnded,
    GangReady,
    Orders,
    SliceDown,
    StoragePost,
)
from orchestrator.store.commands.tokens import add_token
from orchestrator.store.queries.world import world
from tests.builders import NOW, a_slice
from tests.orchestrator.api.rig import Rig, as_json

pytestmark = pytest.mark.anyio


async def orders(rig: Rig, revision: int | None = None) -> Orders | None:
    answer = await rig.cluster.get("/api/v1/link/orders", params=None if revision is None else {"revision": revision})
    return None if answer.status_code == 204 else ORDERS.validate_json(answer.content)


async def test_orders_hold_all_that_a_supervisor_needs(rig: Rig) -> None:
    program = {"builtin": "train", "config": {"preset": "small", "steps": 3000, "model": {"L": 3}}}
    job = await rig.running(program=program, checkpoint={"every_steps": 7}, env_vars={"A": "1"})
    found = await orders(rig)
    assert found is not None
    (run,) = found.runs
    assert (run.job_id, run.attempt_id, run.number) == (job["id"], job["attempt"]["id"], 1)
    assert (run.program.builtin, run.program.command) == ("train", ())
    assert job["spec"]["program"]["config"] == program["config"]
    whole = json.loads(run.program.config_json or "")
    assert (whole["steps"], whole["model"]["L"], whole["model"]["D"], whole["optimizer"]["b2"]) == (3000, 3, 768, 0.95)
    assert "preset" not in whole
    assert (run.checkpoint.root, run.checkpoint.every_steps) == (f"gs://bucket/root/{job['id']}", 7)
    assert (run.slices, run.env_vars, run.stop) == (("pool-0",), {"A": "1"}, None)


async def test_a_config_that_this_version_refuses_goes_as_it_was_written_and_holds_no_order_back() -> None:
    assert whole_config("train", {"preset": "gone", "steps": 3}) == '{"preset": "gone", "steps": 3}'
    assert whole_config("train", {"dropped": 1}) == '{"dropped": 1}'


async def test_a_cancelled_job_is_ordered_to_stop_with_its_grace(rig: Rig) -> None:
    await rig.running(grace="2s")
    assert (await rig.user.post("/api/v1/jobs/toy/cancel")).status_code == 202
    assert (await rig.user.post("/api/v1/jobs/toy/cancel")).status_code == 202
    await rig.tick()
    found = await orders(rig)
    assert found is not None
    assert found.runs[0].stop is not None
    assert (found.runs[0].stop.reason, found.runs[0].stop.grace_ms) == ("cancelled", 2_000)
    assert (await rig.job())["state"] == "STOPPING"


async def test_a_poll_waits_for_a_change_and_wakes_with_it(rig: Rig) -> None:
    await rig.slice_up()
    now = await orders(rig)
    assert now is not None
    poll = asyncio.create_task(orders(rig, now.revision))
    await asyncio.wait_for(rig.clock.waited.wait(), 10)
    await rig.submit()
    assert not poll.done()
    await rig.tick()
    changed = await asyncio.wait_for(poll, 0.9)  # less than the fallback's second: it was woken
    assert changed is not None
    assert len(changed.runs) == 1


async def test_a_poll_without_news_ends_empty(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LONGEST_POLL_MS", 30)
    now = await orders(rig)
    assert now is not None
    assert await orders(rig, now.revision) is None


async def test_a_stopping_server_ends_its_polls(rig: Rig) -> None:
    now = await orders(rig)
    assert now is not None
    poll = asyncio.create_task(orders(rig, now.revision))
    await asyncio.wait_for(rig.clock.waited.wait(), 10)
    rig.deps.stopping.set()
    rig.deps.database.commits.ring()
    assert await asyncio.wait_for(poll, 0.5) is None


async def test_facts_are_acknowledged_and_shown(rig: Rig) -> None:
    job = await rig.running()
    ranks = tuple(RankStarted(rank, a_slice().id, rank, 100 + rank, NOW) for rank in range(2))
    answer = await rig.tell(GangReady("gang_ready", AttemptId(job["attempt"]["id"]), ranks, NOW))
    assert answer.json() == {"acknowledged": {"tests": 2}}
    await rig.tick()
    running = await rig.job()
    assert running["state"] == "RUNNING"
    assert [rank["pid"] for rank in running["attempt"]["ranks"]] == [100, 101]
    assert (await rig.user.get("/api/v1/jobs/toy/attempts")).json()["items"] == [running["attempt"]]


async def test_facts_about_what_another_cluster_has_are_dropped_and_acknowledged(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt_id = AttemptId((await rig.running())["attempt"]["id"])
    stranger = "pwc_stranger"
    async with rig.deps.database.write() as tx:
        await add_token(tx, stranger, "cluster", "elsewhere", NOW)
    ended = GangEnded("gang_ended", attempt_id, "slice_lost", "gone", (), NOW, NOW)
    down = SliceDown("slice_down", a_slice().id, a_slice().incarnation, "gone", NOW)
    own = SliceDown("slice_down", SliceId("theirs"), "inc-1", "gone", NOW)
    facts = tuple(Fact("s", number, body) for number, body in enumerate((ended, down, own), 1))
    async with rig.caller(stranger) as caller:
        answer = await caller.post("/api/v1/link/facts", **as_json(FACTS_POST.dump_json(FactsPost(VERSION, facts))))
    assert answer.json() == {"acknowledged": {"s": 3}}
    assert len([line for line in capsys.readouterr().out.splitlines() if "another cluster" in line]) == 1
    async with rig.deps.database.read() as tx:
        assert [fact.body for fact in (await world(tx, NOW, 1)).facts] == [own]
    await rig.tick()
    assert (await rig.job())["attempt"]["live"]
    assert (await rig.user.get("/api/v1/slices")).json()["items"][0]["state"] == "up"


@pytest.mark.parametrize(
    "body", [{}, {"version": 1}, {"version": 1, "facts": [{"source": "s", "sequence": 1, "body": {"kind": "dreamt"}}]}]
)
async def test_facts_of_another_shape_are_refused(rig: Rig, body: dict[str, object]) -> None:
    assert (await rig.cluster.post("/api/v1/link/facts", json=body)).status_code == 422


async def test_another_version_of_the_protocol_is_refused(rig: Rig) -> None:
    assert (await rig.cluster.post("/api/v1/link/facts", json={"version": 2, "facts": []})).status_code == 409


async def test_clusters_and_slices_are_shown(rig: Rig) -> None:
    job = await rig.running()
    (cluster,) = (await rig.user.get("/api/v1/clusters")).json()["items"]
    (known,) = (await rig.user.get("/api/v1/slices")).json()["items"]
    assert cluster["id"] == "local"
    assert (known["state"], known["shape"], known["chips"]) == ("up", "v5e:2x4", 8)
    assert known["attempt_id"] == job["attempt"]["id"]


async def storage(rig: Rig, fault: str | None, root: str = "gs://bucket/root") -> None:
    body = STORAGE_POST.dump_json(StoragePost(VERSION, root, fault))
    answer = await rig.cluster.post("/api/v1/link/storage", **as_json(body))
    assert answer.status_code == 204, answer.text
    await rig.tick()


async def test_a_job_whose_checkpoints_cannot_be_written_takes_no_slices_and_says_why(rig: Rig) -> None:
    await rig.slice_up()
    fault = "gs://bucket/root: cannot write .probes/x: there is no bucket bucket (404)"
    await storage(rig, fault)
    saves = await rig.submit(name="saves", program={"builtin": "train", "config": {"preset": "tiny"}})
    await rig.tick()
    waits = await rig.job("saves")
    assert (waits["state"], waits["attempts"]) == ("QUEUED", 0)
    assert waits["message"] == f"its checkpoints cannot be written; local: {fault}"
    await storage(rig, None, root="gs://another/root")
    assert (await rig.job("saves"))["state"] == "QUEUED", "what is said of another root says nothing of ours"
    await storage(rig, None)
    assert (await rig.job(saves["id"]))["state"] == "STARTING"
    found = (await rig.user.get("/api/v1/events")).json()["items"]
    kinds = [one["kind"] for one in found if one["kind"].startswith("cluster.")]
    assert kinds == ["cluster.storage_refused", "cluster.storage_restored"]


async def test_a_command_may_run_where_no_checkpoint_can_be_written(rig: Rig) -> None:
    await rig.slice_up()
    await storage(rig, "403")
    await rig.submit()
    await rig.tick()
    assert (await rig.job())["state"] == "STARTING"


async def test_orders_name_the_root_that_clusters_try(rig: Rig) -> None:
    found = await orders(rig, -1)
    assert found is not None
    assert found.checkpoint_root == "gs://bucket/root"
