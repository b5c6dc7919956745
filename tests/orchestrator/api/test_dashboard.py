"""The dashboard's files are served with headers that let nothing else in; without them a page says what to do."""

from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from orchestrator.api import dashboard, problems
from tests.orchestrator.api.rig import Rig

pytestmark = pytest.mark.anyio


def visitor(bundle: Path) -> httpx.AsyncClient:
    app = FastAPI()
    problems.install(app)
    dashboard.install(app, bundle)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>Podwright</title>")
    (tmp_path / "assets" / "main-1.js").write_text("1")
    (tmp_path / "secret").write_text("secret")
    return tmp_path


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs/job_1", "/queue?pool=x"])
async def test_every_page_is_the_application_and_may_load_nothing_from_elsewhere(bundle: Path, path: str) -> None:
    async with visitor(bundle) as http:
        answer = await http.get(path)
    assert answer.status_code == 200
    assert "<title>Podwright" in answer.text
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert answer.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["/assets/../secret", "/assets/..%2fsecret", "/secret", "/assets/none.js", "/nothing"])
async def test_nothing_but_the_bundle_is_served(bundle: Path, path: str) -> None:
    async with visitor(bundle) as http:
        answer = await http.get(path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")


async def test_what_has_its_content_in_its_name_is_kept_for_ever(bundle: Path) -> None:
    async with visitor(bundle) as http:
        answer = await http.get("/assets/main-1.js")
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_before_it_is_built_a_page_says_how_and_once_built_it_is_served(tmp_path: Path) -> None:
    async with visitor(tmp_path) as http:
        missing = await http.get("/jobs")
        assert missing.status_code == 503
        assert "make dashboard" in missing.text
        (tmp_path / "index.html").write_text("built")
        assert (await http.get("/jobs")).text == "built"


async def test_the_api_keeps_its_own_answers_beside_the_pages(rig: Rig) -> None:
    unknown = await rig.user.get("/api/v1/nothing")
    assert (unknown.status_code, unknown.json()["type"]) == (404, "urn:podwright:problem:not-found")
    wrong = await rig.user.post("/api/v1/slices")
    assert (wrong.status_code, wrong.json()["type"]) == (405, "urn:podwright:problem:method-not-allowed")
