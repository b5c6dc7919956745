"""Bundles over the API: uploaded once, checked, run by jobs that name them, swept away when none does."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from orchestrator.chores.sweep import Sweeper
from orchestrator.domain.bundles import MAX_ARCHIVE_BYTES
from orchestrator.store.commands.retention import Kept
from tests.orchestrator.api.bundle import a_bundle
from tests.orchestrator.api.people import OURS, add_project, add_user, caller
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio

BASE = "/api/v1/projects/default/bundles"
GZIP = {"Content-Type": "application/gzip"}


async def upload(rig: Rig, archive: bytes, digest: str) -> httpx.Response:
    return await rig.user.put(f"{BASE}/{digest}", content=archive, headers=GZIP)


def spec_with(code: str) -> dict[str, Any]:
    return {"program": {"command": ["python", "main.py"], "code": code}}


def blobs_of(rig: Rig) -> list[str]:
    found = rig.deps.blobs._path("bundles")
    return sorted(path.name for path in found.rglob("*") if path.is_file())


async def test_a_bundle_is_uploaded_once_and_comes_back_byte_for_byte(rig: Rig) -> None:
    archive, digest = a_bundle()
    first, again = await upload(rig, archive, digest), await upload(rig, archive, digest)
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.json()["files"], first.json()["unpacked"], first.json()["size"]) == (1, 8, len(archive))
    assert len(blobs_of(rig)) == 1
    got = await rig.user.get(f"{BASE}/{digest}/archive")
    assert (got.content, got.headers["content-type"]) == (archive, "application/gzip")
    assert "attachment" in got.headers["content-disposition"]


async def test_what_the_uploader_says_first_of_its_origin_stays(rig: Rig) -> None:
    archive, digest = a_bundle()
    await upload(rig, archive, digest)
    said = {"commit": "a" * 40, "dirty": True, "diff": "- old\n+ new"}
    for body in (said, {"commit": "b" * 40, "dirty": False}):
        assert (await rig.user.put(f"{BASE}/{digest}/origin", json=body)).status_code == 204
    found = (await rig.user.get(f"{BASE}/{digest}")).json()
    assert (found["git_commit"], found["dirty"], found["diff"]) == ("a" * 40, True, "- old\n+ new")
    listed = (await rig.user.get(BASE)).json()["items"]
    assert [(one["digest"], "diff" in one) for one in listed] == [(digest, False)]


async def test_pages_of_bundles_hold_each_once(rig: Rig) -> None:
    made = sorted([a_bundle(name=str(n)) for n in range(5)], key=lambda one: one[1])
    for archive, digest in made:
        await upload(rig, archive, digest)
    seen, cursor = [], ""
    while cursor is not None:
        page = (await rig.user.get(f"{BASE}?limit=2{cursor and '&cursor=' + cursor}")).json()
        seen += [one["digest"] for one in page["items"]]
        cursor = page["next_cursor"]
    assert seen == [digest for _, digest in made]
    assert (await rig.user.get(f"{BASE}?cursor=x")).status_code == 422


async def too_long() -> AsyncIterator[bytes]:
    for _ in range(MAX_ARCHIVE_BYTES // (1 << 20) + 1):
        yield bytes(1 << 20)


@pytest.mark.parametrize("fault", ["digest", "garbage", "type", "empty", "length"])
async def test_what_is_no_bundle_is_refused_and_leaves_nothing(rig: Rig, fault: str) -> None:
    archive, digest = a_bundle()
    content: Any = {"digest": archive + b"x", "garbage": b"no gzip", "empty": b"", "length": too_long()}.get(
        fault, archive
    )
    if fault in ("garbage", "empty"):
        digest = {
            "garbage": "f4ca5d0cb1de7a397d16768535058352ed598bef5cf251edf417327b251a0e92",
            "empty": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        }[fault]
    headers = {} if fault == "type" else GZIP
    answer = await rig.user.put(f"{BASE}/{digest}", content=content, headers=headers)
    assert answer.status_code == {"type": 415, "length": 413}.get(fault, 422), answer.text
    assert blobs_of(rig) == []
    assert (await rig.user.get(BASE)).json()["items"] == []


async def test_a_job_runs_a_bundle_of_its_project_and_its_rank_alone_fetches_it(rig: Rig) -> None:
    archive, digest = a_bundle()
    refused = await rig.user.post("/api/v1/jobs", json={"name": "a", "slices": "v5e:2x4"} | spec_with(digest))
    assert refused.json()["errors"][0]["path"] == "program.code"
    await upload(rig, archive, digest)
    job = await rig.running(**spec_with(digest))
    orders = (await rig.cluster.get("/api/v1/link/orders")).json()
    assert orders["runs"][0]["program"]["code"] == digest
    attempt = job["attempt"]["id"]
    async with rig.rank(attempt) as rank:
        got = await rank.get(f"/api/v1/ingest/{attempt}/code")
    assert got.content == archive
    async with rig.rank("another") as rank:
        assert (await rank.get(f"/api/v1/ingest/{attempt}/code")).status_code == 404


@pytest.mark.parametrize("code", ["./dir", "", "A" * 64, "0" * 63])
async def test_a_folder_is_no_digest(rig: Rig, code: str) -> None:
    answer = await rig.user.post("/api/v1/jobs", json={"name": "a", "slices": "v5e:2x4"} | spec_with(code))
    assert [one["path"] for one in answer.json()["errors"]] == ["program.code"]


async def test_a_builtin_has_no_code(rig: Rig) -> None:
    program = {"builtin": "train", "code": "0" * 64}
    answer = await rig.user.post("/api/v1/jobs", json={"name": "a", "slices": "v5e:2x4", "program": program})
    assert answer.json()["errors"][0]["message"] == "only a command runs in code"


async def test_bundles_that_no_job_names_go_after_a_while_and_others_stay(rig: Rig) -> None:
    (named, named_digest), (unnamed, unnamed_digest) = a_bundle(), a_bundle(other="x")
    await upload(rig, named, named_digest)
    await upload(rig, unnamed, unnamed_digest)
    await rig.submit(**spec_with(named_digest))
    for kept, left in ((Kept(), 2), (Kept(unnamed_bundles_ms=-1), 1)):
        await Sweeper(rig.deps.database, rig.deps.blobs, rig.deps.clock, kept).run_once()
        assert len(blobs_of(rig)) == left
    assert (await rig.user.get(f"{BASE}/{unnamed_digest}")).status_code == 404
    assert (await upload(rig, unnamed, unnamed_digest)).status_code == 201


async def test_a_bundle_is_removed_unless_a_job_names_it(rig: Rig) -> None:
    archive, digest = a_bundle()
    await upload(rig, archive, digest)
    assert (await rig.user.delete(f"{BASE}/{digest}")).status_code == 204
    assert blobs_of(rig) == []
    await upload(rig, archive, digest)
    await rig.submit(**spec_with(digest))
    assert (await rig.user.delete(f"{BASE}/{digest}")).status_code == 409


async def test_the_same_bundle_in_two_projects_is_two(rig: Rig) -> None:
    archive, digest = a_bundle()
    await add_project(rig, OURS)
    await add_user(rig, "ann", "submitter", OURS)
    await upload(rig, archive, digest)
    async with await caller(rig, "ann") as ann:
        assert (await ann.get(f"{BASE}/{digest}")).status_code == 404
        assert (await ann.get(f"/api/v1/projects/{OURS}/bundles/{digest}")).status_code == 404
        again = await ann.put(f"/api/v1/projects/{OURS}/bundles/{digest}", content=archive, headers=GZIP)
        assert again.status_code == 201
