"""What users read of a job: lists, metrics, logs, history."""

import base64
import json
from typing import Any

import pytest

from orchestrator.api.events import follow
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


async def strict(rig: Rig, path: str) -> Any:
    """A body as a strict parser reads it."""
    answer = await rig.user.get(f"/api/v1/jobs/toy/{path}")
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text, parse_constant=refuse_constant)


def spool(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"at_ms": 5, **record}).encode() + b"\n" for record in records)


async def test_lists_are_filtered_and_paged(rig: Rig) -> None:
    for project in ("x", "y"):
        await rig.user.post("/api/v1/projects", json={"name": project})
    for name, project in (("a", "x"), ("b", "x"), ("a", "y"), ("c", "x")):
        await rig.submit(name=name, project=project)

    async def names(query: str) -> list[tuple[str, str]]:
        body = (await rig.user.get(f"/api/v1/jobs?{query}")).json()
        return [(job["name"], job["project"]) for job in body["items"]]

    assert await names("name=a") == [("a", "y"), ("a", "x")]
    assert await names("project=x&limit=2") == [("c", "x"), ("b", "x")]
    assert await names("state=RUNNING") == []
    cursor = (await rig.user.get("/api/v1/jobs?project=x&limit=2")).json()["next_cursor"]
    assert await names(f"project=x&limit=2&cursor={cursor}") == [("a", "x")]


async def test_metrics_come_as_columns_in_strict_json(rig: Rig) -> None:
    attempt_id = (await rig.running())["attempt"]["id"]
    values: dict[str, Any] = {"loss/训练 α": 0.5, "odd": "NaN", "up": "Infinity", "k" * 300: 1}
    records = [{"type": "metrics", "step": step, "values": values} for step in (5, 3, 2**53 + 1)]
    assert (await rig.post(attempt_id, spool(*records))).status_code == 200
    series = {one["name"]: one for one in (await strict(rig, "metrics"))["items"]}
    assert set(series) == set(values)
    assert series["loss/训练 α"]["steps"] == [3, 5, 2**53 + 1]
    assert (series["odd"]["values"], series["up"]["values"]) == (["NaN"] * 3, ["Infinity"] * 3)
    one = (await rig.user.get("/api/v1/jobs/toy/metrics", params={"series": "odd", "attempt": 1})).json()["items"]
    assert [found["name"] for found in one] == ["odd"]
    last = (await rig.user.get("/api/v1/jobs/toy/metrics", params={"series": "up", "last": 2})).json()["items"]
    assert [found["steps"] for found in last] == [[5, 2**53 + 1]]


async def test_a_job_shows_its_progress_checkpoints_and_ledger(rig: Rig) -> None:
    attempt_id = (await rig.running())["attempt"]["id"]
    saved = {"type": "checkpoint", "event": "committed", "step": 20, "path": "gs://b/20", "bytes": 9}
    await rig.post(attempt_id, spool({"type": "progress", "step": 21, "total_steps": 40}, saved))
    job = await rig.job()
    assert (job["progress"]["step"], job["progress"]["total_steps"], job["committed_step"]) == (21, 40, 20)
    (checkpoint,) = (await strict(rig, "checkpoints"))["items"]
    assert (checkpoint["step"], checkpoint["path"], checkpoint["state"]) == (20, "gs://b/20", "committed")
    ledger = await strict(rig, "ledger")
    assert ledger["allocated_chip_ms"] == sum(ledger["chip_ms"].values())


async def test_logs_are_read_byte_for_byte_from_any_place(rig: Rig) -> None:
    attempt_id = (await rig.running())["attempt"]["id"]
    log = bytes(range(256))
    await rig.post(attempt_id, log, stream="stderr", rank=1)
    first = await strict(rig, "logs?rank=1&stream=stderr&limit=100")
    rest = await strict(rig, f"logs?rank=1&stream=stderr&offset={first['next_offset']}")
    assert base64.b64decode(first["data"]) + base64.b64decode(rest["data"]) == log
    assert (rest["next_offset"], rest["ended"], rest["attempt"]) == (256, False, 1)


async def test_logs_of_a_job_that_never_ran_are_empty_and_end_with_it(rig: Rig) -> None:
    await rig.submit()
    waiting = await strict(rig, "logs")
    assert (waiting["attempt"], waiting["data"], waiting["ended"]) == (None, "", False)
    await rig.user.post("/api/v1/jobs/toy/cancel")
    await rig.tick()
    assert (await rig.job())["state"] == "CANCELLED"
    assert (await strict(rig, "logs"))["ended"] is True
    assert (await rig.user.get("/api/v1/jobs/toy/logs?attempt=3")).status_code == 404


async def test_ingest_answers_superseded_so_that_processes_stop(rig: Rig) -> None:
    attempt_id = (await rig.running())["attempt"]["id"]
    async with rig.deps.database.write() as tx:
        await tx.connection.exec_driver_sql("UPDATE attempts SET ended_at_ms = 1, reason = 'preempted'")
    answer = await rig.post(attempt_id, b"")
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:podwright:problem:superseded")


@pytest.mark.parametrize("chunk", [{"rank": -1}, {"offset": -1}, {"offset": 2**63}, {"stream": "tape"}])
async def test_ingest_refuses_what_no_supervisor_sends(rig: Rig, chunk: dict[str, Any]) -> None:
    attempt_id = (await rig.running())["attempt"]["id"]
    assert (await rig.post(attempt_id, b"", **chunk)).status_code == 422


async def test_the_history_is_paged_without_a_gap(rig: Rig) -> None:
    await rig.running()
    await rig.user.post("/api/v1/jobs/toy/cancel")
    first = await strict(rig, "events?limit=2")
    rest = await strict(rig, f"events?limit=200&after={first['next_after']}")
    found = first["items"] + rest["items"]
    assert [event["sequence"] for event in found] == [1, 2, 3]
    assert [event["kind"] for event in found] == ["job.submitted", "job.state", "job.cancel_requested"]
    assert found[1]["data"]["to"] == "STARTING"


async def test_a_stream_goes_on_after_the_last_event_that_was_seen(rig: Rig) -> None:
    job = await rig.running()
    stream = follow(rig.deps, job["id"], 0, rig.admin)
    first, second = await anext(stream), await anext(stream)
    await rig.user.post("/api/v1/jobs/toy/cancel")
    third = await anext(stream)
    resumed = follow(rig.deps, job["id"], int(first.id or 0), rig.admin)
    assert [(await anext(resumed)).id, (await anext(resumed)).id] == [second.id, third.id]


async def test_monitoring_sees_jobs_slices_and_the_leader(rig: Rig) -> None:
    await rig.running()
    answer = await rig.user.get("/api/v1/prometheus")
    assert answer.headers["content-type"].startswith("text/plain")
    for line in (
        'podwright_jobs{state="STARTING"} 1.0',
        'podwright_jobs{state="FAILED"} 0.0',
        'podwright_slices{pool="pool",state="up"} 1.0',
        "podwright_slices_busy 1.0",
        "podwright_leader_epoch 1.0",
    ):
        assert line in answer.text.splitlines()


async def test_a_project_sees_what_it_used(rig: Rig) -> None:
    await rig.running()
    used = (await rig.user.get("/api/v1/projects/default/usage")).json()
    assert (used["chips_now"], used["attempts"], used["jobs"]) == (8, 1, {"STARTING": 1})


async def test_series_are_thinned_and_keep_their_extremes(rig: Rig) -> None:
    attempt_id = (await rig.running())["attempt"]["id"]
    found = [float(step % 97) for step in range(2_000)]
    records = [{"type": "metrics", "step": step, "values": {"loss": value}} for step, value in enumerate(found)]
    await rig.post(attempt_id, spool(*records))
    (series,) = (await strict(rig, "metrics?points_each=50"))["items"]
    assert len(series["values"]) <= 50
    assert (min(series["values"]), max(series["values"])) == (0.0, 96.0)
    assert (await strict(rig, "metrics/names"))["items"] == ["loss"]
