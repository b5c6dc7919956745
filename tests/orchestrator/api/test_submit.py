import asyncio
import json
from typing import Any

import pytest

from orchestrator.api.jobs import MAX_SPEC_BYTES
from tests.orchestrator.api.rig import SPEC, Rig, as_json

pytestmark = pytest.mark.anyio


def builtin(**config: Any) -> dict[str, Any]:
    return {"program": {"builtin": "train", "config": config}}


BAD_FIELDS: list[tuple[dict[str, Any], str, str]] = [
    ({"nmae": "x"}, "nmae", "did you mean 'name'"),
    ({"name": "Big Name"}, "name", "a-z"),
    ({"name": 7}, "name", "string"),
    ({"slices": "v5e:3x3"}, "slices", "sold"),
    ({"slices": ["v5e:2x4", "v9:1"]}, "slices[1]", "v9"),
    ({"slices": 4}, "slices", "string"),
    ({"slices": []}, "slices", "at least one"),
    ({"slices": "0*v5e:2x4"}, "slices", "number of slices"),
    ({"priority": "9223372036854775808"}, "priority", "priority"),
    ({"max_runtime": "-5s"}, "max_runtime", "time span"),
    ({"max_runtime": 5}, "max_runtime", "string"),
    ({"max_wait": "99999999d"}, "max_wait", "3650d"),
    ({"grace": "2h"}, "grace", "1h"),
    ({"capacity": "stolen"}, "capacity", "spot"),
    ({"capacity": []}, "capacity", "at least one"),
    ({"capacity": ["spot", "spot"]}, "capacity", "twice"),
    ({"capacity": ["any", "spot"]}, "capacity", "any last"),
    ({"retry": {"failures": -1}}, "retry.failures", "0 to"),
    ({"retry": {"failures": True}}, "retry.failures", "integer"),
    ({"retry": {"failures": 1.5}}, "retry.failures", "integer"),
    ({"retry": {"failures": "2"}}, "retry.failures", "integer"),
    ({"retry": {"stall": 2}}, "retry.stall", "did you mean 'stalls'"),
    ({"retry": None}, "retry", "got null"),
    ({"checkpoint": {"every_steps": 0}}, "checkpoint.every_steps", "1 to"),
    ({"env_vars": {"A=B": "x"}}, "env_vars.A=B", "letters"),
    ({"env_vars": {"A": "x" * 131_072}}, "env_vars.A", "131071"),
    ({"env_vars": {"PODWRIGHT_X": ""}}, "env_vars.PODWRIGHT_X", "ours"),
    ({"program": {}}, "program", "builtin or command"),
    ({"program": {"command": []}}, "program", "builtin or command"),
    ({"program": {"command": ["a\0b"]}}, "program.command[0]", "zero bytes"),
    ({"program": {"builtin": "trian"}}, "program.builtin", "train"),
    (builtin(steps=-1), "program.config.steps", "more than 0"),
    (builtin(steps="many"), "program.config.steps", "integer"),
    (builtin(steps=True), "program.config.steps", "integer"),
    (builtin(model=5), "program.config.model", "object"),
    (builtin(model={"width": 5}), "program.config.model.width", "did you mean 'head_width'"),
    (builtin(model={"compute": "int8"}), "program.config.model.compute", "bfloat16"),
    (builtin(data={"paths": "a.txt"}), "program.config.data.paths", "array"),
    (builtin(step=5), "program.config.step", "did you mean 'steps'"),
    (builtin(model={"D": 100, "H": 12}), "program.config.model.D", "divisible"),
    (builtin(preset="huge"), "program.config.preset", "tiny"),
]


@pytest.mark.parametrize(("fields", "path", "says"), BAD_FIELDS)
async def test_a_wrong_field_is_refused_with_its_path(rig: Rig, fields: dict[str, Any], path: str, says: str) -> None:
    answer = await rig.user.post("/api/v1/jobs", json=SPEC | fields)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    faults = {fault["path"]: fault["message"] for fault in answer.json()["errors"]}
    assert says in faults[path]
    assert await rig.job_count() == 0


async def test_faults_of_a_spec_and_of_its_config_are_told_together(rig: Rig) -> None:
    answer = await rig.user.post("/api/v1/jobs", json=SPEC | builtin(step=5, model={"L": 0}) | {"name": "Big Name"})
    paths = {fault["path"] for fault in answer.json()["errors"]}
    assert paths == {"name", "program.config.step", "program.config.model.L"}


WHOLE = json.dumps(SPEC).encode()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"null", "object"),
        (b"[]", "object"),
        (b"{}", "required"),
        (WHOLE[:-1] + b', "name": "again"}', "'name' twice"),
        (WHOLE[:-1] + b', "max_runtime": NaN}', "NaN"),
        (WHOLE[:-1] + b', "max_runtime": 1e309}', "1e309"),
        (WHOLE[:-1] + b', "labels": {"a": "\xff"}}', "UTF-8"),
        (WHOLE[:-1] + b', "labels": {"a": "\\ud800"}}', "surrogate"),
        (WHOLE[:-1] + b', "labels": ' + b"[" * 1000 + b"]" * 1000 + b"}", "deeper"),
        (b"[" * 500_000, "deeper"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value,
)
async def test_a_body_that_is_not_strict_json_is_refused(rig: Rig, body: bytes, says: str) -> None:
    answer = await rig.user.post("/api/v1/jobs", **as_json(body))
    assert answer.status_code == 422
    assert says in answer.text
    assert await rig.job_count() == 0


async def test_a_body_that_is_too_large_is_refused_unread(rig: Rig) -> None:
    answer = await rig.user.post("/api/v1/jobs", **as_json(b" " * (MAX_SPEC_BYTES + 1)))
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:podwright:problem:too-large")


async def test_another_content_type_is_refused(rig: Rig) -> None:
    answer = await rig.user.post("/api/v1/jobs", content=WHOLE, headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415


async def test_a_submitted_job_is_shown_with_what_its_slices_are(rig: Rig) -> None:
    job = await rig.submit(slices=["v5litepod-16", "v5e:2x4"])
    assert job["state"] == "QUEUED"
    assert job["choices"] == [
        {"slices": "v5e:4x4", "count": 1, "shape": "v5e:4x4", "chips": 16, "hosts": 4},
        {"slices": "v5e:2x4", "count": 1, "shape": "v5e:2x4", "chips": 8, "hosts": 2},
    ]
    assert await rig.job(job["id"]) == job


async def test_values_that_look_secret_are_masked_and_still_reach_the_program(rig: Rig) -> None:
    job = await rig.running(env_vars={"MY_API_TOKEN": "S3CR3T", "db_password": "S3CR3T", "PLAIN": "shown"})
    seen = [(await rig.user.get(f"/api/v1/jobs{path}")).text for path in ("", "/toy", "/toy/events", "/toy/attempts")]
    assert not any("S3CR3T" in text for text in seen)
    assert job["spec"]["env_vars"]["PLAIN"] == "shown"
    orders = (await rig.cluster.get("/api/v1/link/orders")).json()
    assert orders["runs"][0]["env_vars"]["MY_API_TOKEN"] == "S3CR3T"


async def test_the_same_key_at_once_makes_one_job(rig: Rig) -> None:
    key = {"Idempotency-Key": "k1"}
    answers = await asyncio.gather(*(rig.user.post("/api/v1/jobs", json=SPEC, headers=key) for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    other = await rig.user.post("/api/v1/jobs", json=SPEC | {"name": "other"}, headers=key)
    assert other.status_code == 409
    assert await rig.job_count() == 1


async def test_without_a_key_every_submission_is_a_job(rig: Rig) -> None:
    answers = await asyncio.gather(*(rig.user.post("/api/v1/jobs", json=SPEC) for _ in range(20)))
    assert len({answer.json()["id"] for answer in answers}) == 20


async def test_slices_that_no_pool_has_are_refused_once_pools_are_known(rig: Rig) -> None:
    await rig.submit(slices="v5e:4x4")
    await rig.slice_up()
    answer = await rig.user.post("/api/v1/jobs", json=SPEC | {"slices": "v5e:4x4"})
    assert answer.json()["errors"] == [{"path": "slices", "message": "no pool has v5e:4x4; there is 1*v5e:2x4"}]
    assert answer.status_code == 422
    assert await rig.job_count() == 1
    await rig.submit(slices=["v5e:4x4", "v5e:2x4"])


async def test_a_repeat_is_answered_even_when_its_slices_are_refused_by_now(rig: Rig) -> None:
    key = {"Idempotency-Key": "k1"}
    body = SPEC | {"slices": "v5e:4x4"}
    first = await rig.user.post("/api/v1/jobs", json=body, headers=key)
    await rig.slice_up()
    again = await rig.user.post("/api/v1/jobs", json=body, headers=key)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
