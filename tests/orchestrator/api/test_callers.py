"""Who may do what, and what errors look like."""

import inspect
import sqlite3
from pathlib import Path

import pytest

from orchestrator.api import problems
from orchestrator.domain import errors
from orchestrator.domain.errors import PodwrightError
from tests.orchestrator.api.rig import SPEC, Rig, open_rig

pytestmark = pytest.mark.anyio

FOR_USERS = ["/api/v1/jobs", "/api/v1/jobs/toy", "/api/v1/jobs/toy/logs", "/api/v1/slices", "/api/v1/events/stream"]


@pytest.mark.parametrize("path", [*FOR_USERS, "/api/v1/link/orders"])
async def test_without_a_valid_token_there_is_nothing_to_see(rig: Rig, path: str) -> None:
    for token in (None, "pwt_guessed", ""):
        async with rig.caller(token) as caller:
            answer = await caller.get(path)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("path", FOR_USERS)
async def test_a_cluster_is_no_user_and_a_rank_is_nobody(rig: Rig, path: str) -> None:
    assert (await rig.cluster.get(path)).status_code == 403
    async with rig.rank("att_1") as rank:
        assert (await rank.get(path)).status_code == 401


async def test_a_user_is_no_cluster(rig: Rig) -> None:
    assert (await rig.user.get("/api/v1/link/orders")).status_code == 403
    assert (await rig.user.post("/api/v1/link/facts", json={})).status_code == 403


async def test_a_rank_reports_for_its_own_attempt_only(rig: Rig) -> None:
    job = await rig.running()
    attempt_id = job["attempt"]["id"]
    body = {"version": 1, "chunks": []}
    async with rig.rank("att_other") as foreign:
        assert (await foreign.post(f"/api/v1/ingest/{attempt_id}", json=body)).status_code == 404
    assert (await rig.user.post(f"/api/v1/ingest/{attempt_id}", json=body)).status_code == 401
    assert (await rig.nobody.post(f"/api/v1/ingest/{attempt_id}", json=body)).status_code == 401


async def test_the_token_of_an_order_is_good_for_its_attempt(rig: Rig) -> None:
    await rig.running()
    (run,) = (await rig.cluster.get("/api/v1/link/orders")).json()["runs"]
    async with rig.caller(run["token"]) as rank:
        answer = await rank.post(f"/api/v1/ingest/{run['attempt_id']}", json={"version": 1, "chunks": []})
    assert (answer.status_code, answer.json()) == (200, {"offsets": []})


async def test_health_needs_no_token(rig: Rig) -> None:
    for path in ("/healthz", "/readyz", "/api/v1/version"):
        assert (await rig.nobody.get(path)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/api/v1/jobs/nobody", 404),
        ("POST", "/api/v1/jobs/nobody/cancel", 404),
        ("PUT", "/api/v1/jobs", 405),
        ("GET", "/api/v1/jobs?limit=0", 422),
        ("GET", "/api/v1/jobs?limit=x", 422),
        ("GET", "/api/v1/jobs?cursor=x", 422),
        ("GET", "/api/v1/jobs?state=LOST", 422),
        ("GET", "/api/v1/jobs/nobody/logs?offset=-1", 422),
    ],
)
async def test_every_error_is_a_problem(rig: Rig, method: str, path: str, status: int) -> None:
    answer = await rig.user.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    problem = answer.json()
    assert problem["status"] == status
    assert problem["type"].startswith("urn:podwright:problem:")
    assert problem["instance"] == path.partition("?")[0]


async def test_a_defect_of_ours_shows_no_trace(rig: Rig) -> None:
    async with rig.deps.database.write() as tx:
        await tx.connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        await tx.connection.exec_driver_sql("DROP TABLE tokens")
    answer = await rig.user.get("/api/v1/jobs")
    assert answer.status_code in (500, 503)
    assert "Traceback" not in answer.text
    assert "sqlalchemy" not in answer.text.lower()


async def test_a_locked_database_is_told_as_such_and_leaves_no_row(
    anyio_backend: str, template: Path, tmp_path: Path
) -> None:
    async with open_rig(template, tmp_path, busy_ms=50) as rig:
        blocker = sqlite3.connect(tmp_path / "test.db", isolation_level=None)
        blocker.execute("BEGIN EXCLUSIVE")
        key = {"Idempotency-Key": "k"}
        refused = await rig.user.post("/api/v1/jobs", json=SPEC, headers=key)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert (await rig.user.get("/api/v1/jobs")).json()["items"] == []
        blocker.execute("ROLLBACK")
        blocker.close()
        assert (await rig.user.post("/api/v1/jobs", json=SPEC, headers=key)).status_code == 201
        assert await rig.job_count() == 1


def test_every_error_of_the_domain_has_a_status() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, PodwrightError)]
    assert set(kinds) - {PodwrightError} == set(problems.STATUS)
