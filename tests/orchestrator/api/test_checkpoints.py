"""The registry over the wire: what is kept and why, pins, errands for clusters, and jobs that continue others."""

import json
from typing import Any

import pytest

from orchestrator.domain.ids import AttemptId
from orchestrator.protocol import (
    ERRANDS_POST,
    ORDERS,
    VERSION,
    WATCHED_POST,
    ErrandDone,
    ErrandOrder,
    ErrandsPost,
    GangEnded,
    WatchedCommit,
    WatchedPost,
)
from orchestrator.store.commands.checkpoints import ASK_AGAIN_MS, ORPHANS_AFTER_MS, sweep, sweep_orphans
from tests.orchestrator.api.rig import SPEC, Rig, as_json

pytestmark = pytest.mark.anyio

TOY = "/api/v1/jobs/toy/checkpoints"


def committed(step: int, attempt: int = 1) -> dict[str, Any]:
    return {"type": "checkpoint", "event": "committed", "step": step, "path": f"{attempt}/{step}", "bytes": 9}


def measured(step: int, loss: object) -> dict[str, Any]:
    return {"type": "metrics", "step": step, "values": {"loss": loss}}


async def report(rig: Rig, attempt_id: str, *records: dict[str, Any]) -> None:
    data = b"".join(json.dumps({"at_ms": 5, **record}).encode() + b"\n" for record in records)
    assert (await rig.post(attempt_id, data)).status_code == 200


async def a_job_with(rig: Rig, *steps: int, **fields: Any) -> dict[str, Any]:
    job = await rig.running(**fields)
    await report(rig, job["attempt"]["id"], *(committed(step) for step in steps))
    return job


async def listed(rig: Rig, job: str = "toy") -> dict[int, dict[str, Any]]:
    items = (await rig.user.get(f"/api/v1/jobs/{job}/checkpoints")).json()["items"]
    return {one["step"]: one for one in items}


async def ordered(rig: Rig) -> list[ErrandOrder]:
    answer = await rig.cluster.get("/api/v1/link/orders", params={"revision": -1})
    return list(ORDERS.validate_json(answer.content).errands)


async def told(rig: Rig, *done: ErrandDone) -> None:
    answer = await rig.cluster.post(
        "/api/v1/link/errands", **as_json(ERRANDS_POST.dump_json(ErrandsPost(VERSION, done)))
    )
    assert answer.status_code == 204, answer.text


async def retain(rig: Rig, later_ms: int = 0) -> int:
    async with rig.deps.database.write() as tx:
        return await sweep(tx, rig.deps.new_id, rig.deps.clock.now_ms() + later_ms)


async def look_for_orphans(rig: Rig, later_ms: int) -> int:
    async with rig.deps.database.write() as tx:
        return await sweep_orphans(tx, rig.deps.new_id, rig.deps.clock.now_ms() + later_ms)


async def test_the_registry_says_what_was_measured_at_a_step_and_why_it_stays(rig: Rig) -> None:
    policy = {"keep_last": 1, "keep_every": 20, "keep_best": {"metric": "loss"}}
    job = await rig.running(checkpoint=policy)
    records = [
        *(committed(step) for step in (10, 20, 30, 40)),
        measured(10, 0.5),
        measured(20, "NaN"),
        measured(30, 0.9),
    ]
    await report(rig, job["attempt"]["id"], *records)
    found = await listed(rig)
    assert {step: one["kept"] for step, one in found.items()} == {10: "best", 20: "milestone", 30: None, 40: "newest"}
    assert (found[10]["metrics"], found[20]["metrics"], found[40]["metrics"]) == ({"loss": 0.5}, {"loss": "NaN"}, {})


async def test_retention_is_an_errand_of_the_cluster_and_asked_once(rig: Rig) -> None:
    job = await a_job_with(rig, 10, 20, 30, 40)
    assert await retain(rig) == 2
    assert await retain(rig) == 0
    first, second = await ordered(rig)
    assert [(one.kind, one.root, one.path) for one in (first, second)] == [
        ("delete", f"gs://bucket/root/{job['id']}", "1/10"),
        ("delete", f"gs://bucket/root/{job['id']}", "1/20"),
    ]
    assert (await listed(rig))[10]["state"] == "deleting"
    await told(rig, ErrandDone(first.id, True, ""), ErrandDone(second.id, False, "403"))
    await told(rig, ErrandDone(first.id, True, ""))
    states = {step: one["state"] for step, one in (await listed(rig)).items()}
    assert states == {10: "deleted", 20: "deleting", 30: "committed", 40: "committed"}
    pinned = await rig.user.post(f"{TOY}/20/pin", json={"pinned": True})
    assert pinned.json()["detail"] == "checkpoint 1/20 is deleting: too late to pin it", "half of it may be gone"
    assert await retain(rig) == 0
    assert await retain(rig, later_ms=ASK_AGAIN_MS) == 1, "what failed is asked for again"
    assert await retain(rig, later_ms=ASK_AGAIN_MS) == 0
    assert [one.path for one in await ordered(rig)] == ["1/20"]
    kinds = [one["kind"] for one in (await rig.user.get("/api/v1/jobs/toy/events")).json()["items"]]
    assert kinds.count("checkpoint.delete_done") == 1
    assert kinds.count("checkpoint.delete_failed") == 1


async def test_a_pinned_step_outlives_retention_and_is_not_deleted(rig: Rig) -> None:
    await a_job_with(rig, 10, 20, 30, 40)
    answer = await rig.user.post(f"{TOY}/10/pin", json={"pinned": True, "note": "the paper's"})
    assert (answer.status_code, answer.json()["kept"], answer.json()["note"]) == (200, "pinned", "the paper's")
    assert await retain(rig) == 1
    assert (await rig.user.delete(f"{TOY}/10")).json()["detail"] == "checkpoint 1/10 is pinned; unpin it first"
    assert (await rig.user.post(f"{TOY}/20/pin", json={"pinned": True})).status_code == 409
    await rig.user.post(f"{TOY}/10/pin", json={"pinned": False})
    assert await retain(rig) == 1


async def test_a_step_that_latest_names_is_committed_again_after_its_deletion_was_refused(rig: Rig) -> None:
    await a_job_with(rig, 10, 20, 30, 40)
    assert await retain(rig) == 2
    first, _ = await ordered(rig)
    await told(rig, ErrandDone(first.id, False, "it is the newest commit, and stays", "newest"))
    assert (await listed(rig))[10]["state"] == "committed"


async def test_a_step_that_verify_finds_damaged_is_quarantined_and_no_job_continues_from_it(rig: Rig) -> None:
    await a_job_with(rig, 10, 20)
    verify = (await rig.user.post(f"{TOY}/20/errands", json={"kind": "verify"})).json()
    await told(rig, ErrandDone(verify["id"], False, "1/20/state/x is missing", "damaged"))
    found = await listed(rig)
    assert {step: (one["state"], one["kept"]) for step, one in found.items()} == {
        10: ("committed", "newest"),
        20: ("quarantined", None),
    }
    events = (await rig.user.get("/api/v1/jobs/toy/events")).json()["items"]
    (said,) = [one["message"] for one in events if one["kind"] == "checkpoint.quarantined"]
    assert said == "checkpoint 1/20 is damaged and set aside: 1/20/state/x is missing"
    assert (await rig.user.post("/api/v1/jobs/toy/continue", json={"step": 20})).status_code == 409
    answer = await rig.user.post("/api/v1/jobs/toy/continue", json={"set": {"name": "next"}})
    assert answer.json()["continues"].endswith("/1/10")


async def test_without_a_commit_that_stands_a_quarantined_step_may_still_be_deleted(rig: Rig) -> None:
    await a_job_with(rig, 10)
    verify = (await rig.user.post(f"{TOY}/10/errands", json={"kind": "verify"})).json()
    await told(rig, ErrandDone(verify["id"], False, "1/10/state/x is missing", "damaged"))
    assert (await rig.user.delete(f"{TOY}/10")).status_code == 202


async def test_orphans_are_looked_for_once_a_day_after_an_attempt_ended(rig: Rig) -> None:
    job = await a_job_with(rig, 10)
    day = ORPHANS_AFTER_MS + 60_000
    assert await look_for_orphans(rig, later_ms=day) == 0, "its only attempt is alive"
    now = rig.deps.clock.now_ms()
    ended = GangEnded("gang_ended", AttemptId(job["attempt"]["id"]), "slice_lost", "", (), now, now)
    await rig.tell(ended)
    await rig.tick()
    assert await look_for_orphans(rig, later_ms=0) == 0
    assert await look_for_orphans(rig, later_ms=day) == 1
    assert await look_for_orphans(rig, later_ms=day) == 0
    (order,) = await ordered(rig)
    assert (order.kind, order.path) == ("orphans", f"{(await rig.job())['attempts']}/0")
    before = len((await rig.user.get("/api/v1/jobs/toy/events")).json()["items"])
    await told(rig, ErrandDone(order.id, True, "0 orphans deleted, 0 bytes", "nothing"))
    assert len((await rig.user.get("/api/v1/jobs/toy/events")).json()["items"]) == before


async def test_the_newest_commit_is_never_deleted(rig: Rig) -> None:
    await a_job_with(rig, 10, 20)
    answer = await rig.user.delete(f"{TOY}/20")
    assert (answer.status_code, "newest commit" in answer.json()["detail"]) == (409, True)
    assert (await rig.user.delete(f"{TOY}/10")).status_code == 202
    assert (await rig.user.delete(f"{TOY}/99")).status_code == 404
    assert [one.path for one in await ordered(rig)] == ["1/10"]


async def test_errands_are_asked_ordered_and_told(rig: Rig) -> None:
    await a_job_with(rig, 10)
    verify = (await rig.user.post(f"{TOY}/10/errands", json={"kind": "verify"})).json()
    export = (await rig.user.post(f"{TOY}/10/errands", json={"kind": "export", "target": "/out"})).json()
    assert (await rig.user.post(f"{TOY}/10/errands", json={"kind": "export"})).status_code == 422
    assert [(one.kind, one.target) for one in await ordered(rig)] == [("verify", None), ("export", "/out")]
    await told(rig, ErrandDone(verify["id"], False, "1/10/state/x is missing"))
    found = (await rig.user.get(f"{TOY}/errands/{verify['id']}")).json()
    assert (found["ok"], found["message"]) == (False, "1/10/state/x is missing")
    assert (await rig.user.get(f"{TOY}/errands/{export['id']}")).json()["ok"] is None


async def test_what_a_users_program_wrote_is_never_touched(rig: Rig) -> None:
    job = await rig.running()
    theirs = [committed(step) | {"path": f"gs://mine/{step}"} for step in (1, 2, 3, 4)]
    await report(rig, job["attempt"]["id"], *theirs)
    assert await retain(rig) == 0
    assert (await rig.user.delete(f"{TOY}/1")).status_code == 409
    assert (await rig.user.post(f"{TOY}/1/errands", json={"kind": "verify"})).status_code == 409


async def test_a_continued_job_begins_at_that_step_and_shows_what_differs(rig: Rig) -> None:
    fields: dict[str, Any] = {"env_vars": {"API_TOKEN": "old", "X": "1"}}
    source = await a_job_with(rig, 10, 20, **fields)
    await report(rig, source["attempt"]["id"])
    body = {"step": 10, "set": {"name": "tuned", "env_vars": {"API_TOKEN": "new"}}}
    answer = await rig.user.post("/api/v1/jobs/toy/continue", json=body)
    assert answer.status_code == 201, answer.text
    told_back = answer.json()
    assert told_back["continues"] == f"{source['id']}/1/10"
    assert {one["path"]: (one["before"], one["after"]) for one in told_back["differences"]} == {
        "name": ("toy", "tuned"),
        "env_vars.API_TOKEN": ("********", "********"),
    }
    spec = (await rig.job("tuned"))["spec"]
    assert spec["checkpoint"]["continue_from"] == f"{source['id']}/1/10"
    assert spec["env_vars"]["X"] == "1"


async def test_a_step_that_another_job_needs_is_kept_until_that_has_its_own(rig: Rig) -> None:
    await a_job_with(rig, 10, 20, 30, 40)
    await rig.user.post("/api/v1/jobs/toy/continue", json={"step": 10, "set": {"name": "tuned"}})
    assert (await listed(rig))[10]["kept"] == "needed"
    assert await retain(rig) == 1


@pytest.mark.parametrize(
    ("body", "says"), [({"step": 15}, "never committed step 15"), ({"step": 10}, "1/10 of job job_1 is deleting")]
)
async def test_nothing_continues_from_what_is_not_there(rig: Rig, body: dict[str, Any], says: str) -> None:
    await a_job_with(rig, 10, 20)
    await rig.user.delete(f"{TOY}/10")
    answer = await rig.user.post("/api/v1/jobs/toy/continue", json=body)
    assert (answer.status_code, says in answer.json()["detail"]) == (409, True), answer.text


async def test_the_curve_of_a_continued_job_is_joined_and_its_lineage_shown(rig: Rig) -> None:
    source = await rig.running()
    records = [measured(10, 0.9), measured(20, 0.8), committed(10), committed(20)]
    await report(rig, source["attempt"]["id"], *records)
    await rig.slice_up("pool-1")
    made = await rig.user.post("/api/v1/jobs/toy/continue", json={"step": 10, "set": {"name": "tuned"}})
    assert made.status_code == 201
    await rig.tick()
    tuned = await rig.job("tuned")
    restored = {"type": "checkpoint", "event": "restored", "step": 10, "path": "1/10", "source_job_id": source["id"]}
    await report(rig, tuned["attempt"]["id"], restored, measured(11, 0.5))
    (series,) = (await rig.user.get("/api/v1/jobs/tuned/metrics")).json()["items"]
    assert (series["steps"], series["values"], series["attempts"]) == ([10, 11], [0.9, 0.5], [0, 1])
    assert (await listed(rig))[10]["restored_into"] == [{"job_id": tuned["id"], "attempt": 1}]
    orders = ORDERS.validate_json((await rig.cluster.get("/api/v1/link/orders", params={"revision": -1})).content)
    origins = {run.job_id: run.checkpoint.origin for run in orders.runs}
    assert origins == {source["id"]: None, tuned["id"]: f"gs://bucket/root/{source['id']}/1/10"}


async def saw(rig: Rig, attempt_id: str, *commits: WatchedCommit, code: int = 204) -> None:
    body = WATCHED_POST.dump_json(WatchedPost(VERSION, AttemptId(attempt_id), commits))
    answer = await rig.cluster.post("/api/v1/link/watched", **as_json(body))
    assert answer.status_code == code, answer.text


async def test_what_a_foreign_program_commits_is_registered_unfenced_and_never_touched(rig: Rig) -> None:
    job = await rig.running(checkpoint={"watch": "gs://theirs/run"})
    (run,) = ORDERS.validate_json((await rig.cluster.get("/api/v1/link/orders", params={"revision": -1})).content).runs
    assert run.checkpoint.watch == "gs://theirs/run"
    attempt, now = job["attempt"]["id"], rig.deps.clock.now_ms()
    new = WatchedCommit(40, "gs://theirs/run/40", 9, now)
    before = WatchedCommit(20, "gs://theirs/run/20", 9, job["started_at_ms"] - 1)
    for _ in range(2):
        await saw(rig, attempt, before, new)
    found = await listed(rig)
    assert {step: (one["path"], one["unfenced"], one["bytes"]) for step, one in found.items()} == {
        40: ("gs://theirs/run/40", True, 9)
    }
    events = (await rig.user.get("/api/v1/jobs/toy/events")).json()["items"]
    said = [one["message"] for one in events if one["kind"] == "checkpoint.committed"]
    assert said == ["step 40 is committed by the program itself, unfenced"]
    assert (await rig.job())["progress"]["committed_step"] == 40
    assert await retain(rig) == 0
    assert (await rig.user.delete(f"{TOY}/40")).status_code == 409
    await saw(rig, "att_nobody", new, code=404)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"checkpoint": {"watch": "run"}}, "checkpoint.watch"),
        ({"checkpoint": {"watch": "s3://x/y"}}, "checkpoint.watch"),
        ({"checkpoint": {"watch": "gs://x"}, "program": {"builtin": "train"}}, "checkpoint.watch"),
        ({"checkpoint": {"save_deadline": "unlimited"}}, "checkpoint.save_deadline"),
        ({"checkpoint": {"save_deadline": "10ms"}}, "checkpoint.save_deadline"),
    ],
)
async def test_a_folder_that_cannot_be_watched_and_a_deadline_that_is_none_are_refused(
    rig: Rig, fields: dict[str, Any], field: str
) -> None:
    answer = await rig.user.post("/api/v1/jobs", json=SPEC | fields)
    assert answer.status_code == 422
    assert [fault["path"] for fault in answer.json()["errors"]] == [field]
