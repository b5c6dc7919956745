"""Artifacts over the API: posted by ranks, listed, downloaded and glimpsed by people; never served as a page."""

import base64
from typing import Any

import httpx
import pytest

from orchestrator.protocol import VERSION
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio

BASE = "/api/v1/jobs/toy/artifacts"


async def post(rig: Rig, attempt_id: str, chunks: list[dict[str, Any]], skipped: Any = ()) -> httpx.Response:
    body = {"version": VERSION, "chunks": chunks, "skipped": list(skipped)}
    async with rig.rank(attempt_id) as rank:
        return await rank.post(f"/api/v1/ingest/{attempt_id}/artifacts", json=body)


def chunk(path: str, data: bytes, **changes: Any) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {
        "rank": 0,
        "path": path,
        "size": len(data),
        "modified_ns": 5_000_000,
        "offset": 0,
        "data": encoded,
    } | changes


async def running(rig: Rig) -> str:
    return str((await rig.running())["attempt"]["id"])


async def test_files_are_listed_downloaded_and_glimpsed(rig: Rig) -> None:
    attempt = await running(rig)
    page = b"<script>alert(1)</script>"
    answer = await post(rig, attempt, [chunk("out/größe.html", page), chunk("a.csv", b"x,y\n1,2\n")])
    assert [one["offset"] for one in answer.json()["offsets"]] == [len(page), 8]
    items = (await rig.user.get(BASE)).json()["items"]
    assert [(one["path"], one["state"], one["modified_at_ms"]) for one in items] == [
        ("out/größe.html", "kept", 5),
        ("a.csv", "kept", 5),
    ]
    got = await rig.user.get(f"{BASE}/{items[0]['id']}/content")
    assert (got.content, got.headers["content-type"]) == (page, "application/octet-stream")
    assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe.html"
    assert (got.headers["x-content-type-options"], got.headers["content-security-policy"]) == ("nosniff", "sandbox")
    seen = (await rig.user.get(f"{BASE}/{items[1]['id']}/preview")).json()
    assert (seen["kind"], seen["rows"]) == ("table", [["x", "y"], ["1", "2"]])
    shown = await rig.user.get(f"{BASE}/{items[0]['id']}/preview")
    assert (shown.json()["kind"], shown.headers["content-type"]) == ("text", "application/json")


async def test_pages_and_filters(rig: Rig) -> None:
    attempt = await running(rig)
    await post(rig, attempt, [chunk(f"f{n}", b"x") for n in range(5)])
    seen, cursor = [], ""
    while cursor is not None:
        page = (await rig.user.get(f"{BASE}?limit=2{cursor and '&cursor=' + cursor}")).json()
        seen += [one["path"] for one in page["items"]]
        cursor = page["next_cursor"]
    assert seen == [f"f{n}" for n in range(5)]
    for query, count in (("rank=1", 0), ("attempt=1", 5), ("prefix=f3", 1), ("state=skipped", 0)):
        assert len((await rig.user.get(f"{BASE}?{query}")).json()["items"]) == count


async def test_what_is_not_whole_or_was_skipped_cannot_be_had(rig: Rig) -> None:
    attempt = await running(rig)
    skipped = [{"rank": 0, "path": "link", "why": "is a symbolic link"}]
    await post(rig, attempt, [chunk("half", b"ha", size=4)], skipped)
    for one in (await rig.user.get(BASE)).json()["items"]:
        for what in ("content", "preview"):
            answer = await rig.user.get(f"{BASE}/{one['id']}/{what}")
            assert answer.status_code == 409
            assert one["note"] in answer.json()["detail"]
    assert (await rig.user.get(f"{BASE}/99/content")).status_code == 404


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "../up"},
        {"path": "/etc/passwd"},
        {"path": "a//b"},
        {"path": "a\nb"},
        {"path": "x" * 300},
        {"path": ""},
        {"rank": -1},
        {"rank": 2**31},
        {"size": 0},
        {"size": 2**63},
        {"offset": -1},
        {"modified_ns": -1},
        {"modified_ns": 2**64},
        {"data": "no base64"},
    ],
)
async def test_posts_of_what_no_file_can_be_are_refused(rig: Rig, changes: dict[str, Any]) -> None:
    attempt = await running(rig)
    answer = await post(rig, attempt, [chunk("a", b"x") | ({"offset": 1} if "size" in changes else {}) | changes])
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["path"].startswith("chunks[0]")
    assert (await rig.user.get(BASE)).json()["items"] == []


async def test_a_rank_posts_for_its_own_attempt_only(rig: Rig) -> None:
    attempt = await running(rig)
    async with rig.rank("another") as rank:
        body = {"version": VERSION, "chunks": []}
        assert (await rank.post(f"/api/v1/ingest/{attempt}/artifacts", json=body)).status_code == 404
    assert (await rig.user.post(f"/api/v1/ingest/{attempt}/artifacts", json=body)).status_code == 401
