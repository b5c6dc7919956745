"""Bad types and ranges, huge bodies and huge specs, and the same submission many times over (cases B01, B04, B06)."""

import asyncio
import hashlib
import json
from typing import Any

import pytest

from orchestrator.api.jobs import MAX_SPEC_BYTES
from tests.orchestrator.api.rig import SPEC, Rig

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}
TRAIN = {"builtin": "train"}


def config(**fields: Any) -> dict[str, Any]:
    return {"program": {"builtin": "train", "config": fields}}


WRONG: list[tuple[dict[str, Any], str]] = (
    [
        ({"slices": value}, "slices")
        for value in (0, -1, 1.5, True, None, 1e9, [], {}, "0*v5e:2x4", "-1*v5e:2x4", "1.5*v5e:2x4", "v5e:3x3", "2", "")
    ]
    + [
        ({"max_runtime": value}, "max_runtime")
        for value in (-5, 1e308, "-5s", "0s", "1e308s", "99999d", "5", "", None, True, "9999999999s")
    ]
    + [({"priority": value}, "priority") for value in (2**63, 1, "normal/99999", "urgent", None, "normal/1.5")]
    + [
        ({"retry": {"failures": value}}, "retry.failures")
        for value in (-1, 1_000_001, 10**30, 1.5, "2", True, None, "for ever")
    ]
    + [
        (config(steps=value), "program.config.steps")
        for value in (-1, 0, 1.5, "10", True, None, 2**53, 10**30, -(10**30), 1e308)
    ]
    + [
        ({"checkpoint": {name: value}}, f"checkpoint.{name}")
        for name in ("every_steps", "keep_last", "keep_every")
        for value in (0, -1, 10**10, 2**63, 10**30, 1.5, "2")
    ]
    + [
        (config(model={"D": 10**30}), "program.config.model.D"),
        (config(seed=2**64), "program.config.seed"),
        ({"checkpoint": {"keep_best": {"metric": "loss", "n": 10**30}}}, "checkpoint.keep_best.n"),
        ({"host": 3}, "host"),
        ({"grace": "2h"}, "grace"),
        ({"labels": {"x" * 64: "y"}}, f"labels.{'x' * 63}"),
        ({"env_vars": {"A": 5}}, "env_vars.A"),
        ({"env_vars": {"1A": "x"}}, "env_vars.1A"),
        ({"env_vars": {"PODWRIGHT_X": "x"}}, "env_vars.PODWRIGHT_X"),
        ({"env_vars": {"A": "x\0"}}, "env_vars.A"),
        ({"name": "No"}, "name"),
        ({"name": "x" * 64}, "name"),
        ({"program": {"command": []}}, "program"),
        ({"program": {"command": ["true"], "builtin": "train"}}, "program"),
        ({"program": {"command": "true"}}, "program.command"),
        ({"program": {"command": [""]}}, "program.command[0]"),
        ({"program": {"command": ["x"] * 1001}}, "program.command"),
    ]
)


async def test_what_is_wrong_is_refused_with_its_path_and_leaves_no_row(rig: Rig) -> None:
    unseen: list[str] = []
    for changes, path in WRONG:
        answer = await rig.user.post("/api/v1/jobs", json=SPEC | changes)
        found = [one["path"] for one in answer.json().get("errors", ())]
        if answer.status_code != 422 or path not in found:
            unseen.append(f"{str(changes)[:200]}: {answer.status_code} {found}, not 422 {path}")
        assert answer.headers["content-type"] == "application/problem+json", changes
    assert not unseen, "\n".join(unseen)
    assert await rig.job_count() == 0
    assert (await rig.user.get("/healthz")).status_code == 200


NO_SPECS = [
    (b'{"name": "a", "name": "b"}', 422),
    (b'{"name": NaN}', 422),
    (b'{"expected_runtime": Infinity}', 422),
    (b"[" * 1000 + b"]" * 1000, 422),
    (b'{"labels": ' * 1000 + b"1" + b"}" * 1000, 422),
    (b'{"name": "\xff"}', 422),
    (b'{"name": "\\ud800"}', 422),
    (b"", 422),
    (b"null", 422),
    (b"[]", 422),
    (b'"text"', 422),
    (b'{"retry": {"failures": ' + b"9" * 5000 + b"}}", 422),
    (b" " * (MAX_SPEC_BYTES + 1), 413),
    (b'{"name": "' + b"x" * (50 << 20), 413),
]


async def test_what_is_no_spec_is_refused_and_nothing_is_kept(rig: Rig) -> None:
    for body, status in NO_SPECS:
        answer = await rig.user.post("/api/v1/jobs", content=body, headers=JSON)
        assert answer.status_code == status, (body[:50], answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    assert await rig.job_count() == 0


@pytest.mark.parametrize("kind", ["text/plain", "application/x-yaml", "multipart/form-data; boundary=x", ""])
async def test_another_content_type_is_refused(rig: Rig, kind: str) -> None:
    answer = await rig.user.post("/api/v1/jobs", content=json.dumps(SPEC).encode(), headers={"Content-Type": kind})
    assert answer.status_code == 415


async def test_one_key_from_twenty_at_once_is_one_job(rig: Rig) -> None:
    headers = {"Idempotency-Key": "k1"}
    answers = await asyncio.gather(*(rig.user.post("/api/v1/jobs", json=SPEC, headers=headers) for _ in range(20)))
    assert sorted(one.status_code for one in answers) == [200] * 19 + [201]
    assert len({one.json()["id"] for one in answers}) == 1
    other = await rig.user.post("/api/v1/jobs", json=SPEC | {"name": "other"}, headers=headers)
    assert other.status_code == 409
    assert (await rig.job_count(), (await rig.job())["version"]) == (1, 1)


async def test_without_a_key_each_of_twenty_is_a_job_of_its_own(rig: Rig) -> None:
    answers = await asyncio.gather(*(rig.user.post("/api/v1/jobs", json=SPEC) for _ in range(20)))
    assert {one.status_code for one in answers} == {201}
    assert len({one.json()["id"] for one in answers}) == 20
    assert await rig.job_count() == 20


ODD = "line\nbreak = 'quoted' \"double\" $(id) `id` \\ 🚀\t\x01"


@pytest.mark.parametrize(
    ("variables", "refused"),
    [
        ({"A": "x" * 131_069}, None),
        ({"A": "x" * 131_070}, "env_vars.A"),
        ({"A": "x" * 131_071}, "env_vars.A"),
        ({"A": "x" * 131_072}, "env_vars.A"),
        ({"A": "x" * 262_144}, "env_vars.A"),
        ({"A": "ä" * 65_535}, "env_vars.A"),
        ({f"V{n}": str(n) for n in range(5_000)}, None),
        ({f"V{n}": "x" * 100_000 for n in range(11)}, "env_vars"),
        ({"A": ODD}, None),
    ],
    ids=["131071", "131072", "131073", "131074", "262146", "umlauts", "5000", "too much", "odd"],
)
async def test_huge_variables_reach_the_order_byte_for_byte_or_are_refused_with_limit_and_size(
    rig: Rig, variables: dict[str, str], refused: str | None
) -> None:
    answer = await rig.user.post("/api/v1/jobs", json=SPEC | {"env_vars": variables})
    if refused is not None:
        assert answer.status_code == 422
        [fault] = answer.json()["errors"]
        assert fault["path"] == refused
        assert "at most" in fault["message"]
        assert "got" in fault["message"]
        return
    assert answer.status_code == 201, answer.text
    await rig.slice_up()
    [run] = (await rig.cluster.get("/api/v1/link/orders")).json()["runs"]
    assert run["env_vars"] == variables


async def test_a_script_of_a_hundred_thousand_lines_is_refused_by_name_and_a_long_one_arrives(rig: Rig) -> None:
    script = "\n".join(f"print({n})" for n in range(100_000))
    command = ["python", "-c", script]
    answer = await rig.user.post("/api/v1/jobs", json=SPEC | {"program": {"command": command}})
    assert answer.status_code == 422
    [fault] = answer.json()["errors"]
    assert fault["path"] == "program.command[2]"
    assert str(len(script)) in fault["message"]
    longest = script[:131_071]
    await rig.running(program={"command": ["python", "-c", longest]})
    [run] = (await rig.cluster.get("/api/v1/link/orders")).json()["runs"]
    digest = hashlib.sha256(run["program"]["command"][2].encode()).hexdigest()
    assert digest == hashlib.sha256(longest.encode()).hexdigest()
