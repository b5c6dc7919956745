"""Who may do what to what: every route that users have, as every role. Foreign objects are not found, on every verb."""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from tests.orchestrator.api.bundle import a_bundle
from tests.orchestrator.api.people import OURS, THEIRS, add_project, add_user, caller
from tests.orchestrator.api.rig import SPEC, Rig

pytestmark = pytest.mark.anyio

OPEN = {"GET /healthz", "GET /readyz", "GET /metrics", "GET /api/v1/version", "GET /api/v1/openapi.json"}
OTHERS = {
    "GET /api/v1/link/orders",
    "POST /api/v1/link/facts",
    "POST /api/v1/link/errands",
    "POST /api/v1/link/storage",
    "POST /api/v1/link/watched",
    "POST /api/v1/ingest/{attempt_id}",
    "GET /api/v1/ingest/{attempt_id}/code",
    "POST /api/v1/ingest/{attempt_id}/artifacts",
}
"""For clusters and ranks."""

REASON = {"reason": "test"}
ARCHIVE, DIGEST = a_bundle()
RAW: dict[str, Any] = {"raw": "the bundle"}
"""Stands for a body that is no JSON."""
IN_PROJECT: dict[str, tuple[str, dict[str, Any] | None]] = {
    # route: (least role, body)
    "GET /api/v1/jobs/{job}": ("viewer", None),
    "GET /api/v1/jobs/{job}/attempts": ("viewer", None),
    "GET /api/v1/jobs/{job}/events": ("viewer", None),
    "GET /api/v1/jobs/{job}/metrics": ("viewer", None),
    "GET /api/v1/jobs/{job}/metrics/names": ("viewer", None),
    "GET /api/v1/jobs/{job}/checkpoints": ("viewer", None),
    "GET /api/v1/jobs/{job}/checkpoints/errands/{errand}": ("viewer", None),
    "POST /api/v1/jobs/{job}/checkpoints/{step}/pin": ("submitter", {"pinned": True}),
    "DELETE /api/v1/jobs/{job}/checkpoints/{step}": ("submitter", None),
    "POST /api/v1/jobs/{job}/checkpoints/{step}/errands": ("submitter", {"kind": "verify"}),
    "POST /api/v1/jobs/{job}/checkpoints/orphans": ("submitter", None),
    "POST /api/v1/jobs/{job}/continue": ("submitter", {"set": {}}),
    "GET /api/v1/jobs/{job}/artifacts": ("viewer", None),
    "GET /api/v1/jobs/{job}/artifacts/{artifact}/content": ("viewer", None),
    "GET /api/v1/jobs/{job}/artifacts/{artifact}/preview": ("viewer", None),
    "GET /api/v1/jobs/{job}/notifications": ("viewer", None),
    "GET /api/v1/jobs/{job}/logs": ("viewer", None),
    "GET /api/v1/jobs/{job}/logs/raw": ("viewer", None),
    "GET /api/v1/jobs/{job}/ledger": ("viewer", None),
    "GET /api/v1/jobs/{job}/why": ("viewer", None),
    "GET /api/v1/arrays/{array}": ("viewer", None),
    "GET /api/v1/projects/{project}": ("viewer", None),
    "GET /api/v1/projects/{project}/members": ("viewer", None),
    "GET /api/v1/projects/{project}/quotas": ("viewer", None),
    "GET /api/v1/projects/{project}/usage": ("viewer", None),
    "GET /api/v1/projects/{project}/secrets": ("submitter", None),
    "GET /api/v1/projects/{project}/bundles": ("viewer", None),
    "GET /api/v1/projects/{project}/bundles/{digest}": ("viewer", None),
    "GET /api/v1/projects/{project}/bundles/{digest}/archive": ("viewer", None),
    "PUT /api/v1/projects/{project}/bundles/{digest}": ("submitter", RAW),
    "PUT /api/v1/projects/{project}/bundles/{digest}/origin": ("submitter", {"dirty": False}),
    "DELETE /api/v1/projects/{project}/bundles/{digest}": ("admin", None),
    "POST /api/v1/jobs": ("submitter", SPEC),
    "POST /api/v1/jobs/bulk": ("submitter", {"jobs": [SPEC]}),
    "POST /api/v1/arrays": ("submitter", {"spec": SPEC, "sets": [{}]}),
    "POST /api/v1/jobs/{job}/hold": ("submitter", None),
    "POST /api/v1/jobs/{job}/release": ("submitter", None),
    "POST /api/v1/jobs/{job}/priority": ("submitter", {"priority": "batch/1"}),
    "POST /api/v1/jobs/{job}/clone": ("submitter", None),
    "POST /api/v1/jobs/{job}/cancel": ("submitter", None),
    "POST /api/v1/jobs/{job}/retry": ("submitter", None),
    "PUT /api/v1/projects/{project}/members/{user}": ("admin", {"role": "viewer"}),
    "DELETE /api/v1/projects/{project}/members/{user}": ("admin", None),
    "PUT /api/v1/projects/{project}/secrets/{name}": ("admin", {"value": "x"}),
    "DELETE /api/v1/projects/{project}/secrets/{name}": ("admin", None),
    "GET /api/v1/projects/{project}/webhooks": ("admin", None),
    "POST /api/v1/projects/{project}/webhooks": ("admin", {"url": "https://example.org/hook"}),
    "GET /api/v1/projects/{project}/webhooks/{webhook}/deliveries": ("admin", None),
    "DELETE /api/v1/projects/{project}/webhooks/{webhook}": ("admin", None),
}
FOR_ALL: dict[str, dict[str, Any] | None] = {
    # what shows each caller only their own
    "GET /api/v1/jobs": None,
    "GET /api/v1/jobs/counts": None,
    "GET /api/v1/jobs/glances": None,
    "POST /api/v1/jobs/ask": {"verb": "hold", "which": {"all": True}, "dry_run": True},
    "GET /api/v1/events": None,
    "GET /api/v1/events/stream": None,
    "GET /api/v1/slices": None,
    "GET /api/v1/occupancy": None,
    "GET /api/v1/pools": None,
    "GET /api/v1/hosts": None,
    "GET /api/v1/clusters": None,
    "GET /api/v1/maintenance": None,
    "GET /api/v1/projects": None,
    "GET /api/v1/me": None,
    "GET /api/v1/tokens": None,
    "POST /api/v1/tokens": {"name": "again", "scope": "read"},
    "DELETE /api/v1/tokens/{token_id}": None,
}
FOR_GLOBAL_ADMINS: dict[str, dict[str, Any] | None] = {
    "POST /api/v1/projects": {"name": "third"},
    "PATCH /api/v1/projects/{project}": {"weight": 2},
    "DELETE /api/v1/projects/{project}": None,
    "PUT /api/v1/projects/{project}/quotas/{pool}": {"guarantee_chips": 8},
    "DELETE /api/v1/projects/{project}/quotas/{pool}": None,
    "GET /api/v1/users": None,
    "GET /api/v1/prometheus": None,
    "POST /api/v1/users": {"name": "new"},
    "GET /api/v1/users/{user}": None,
    "PATCH /api/v1/users/{user}": {"admin": False},
    "POST /api/v1/maintenance": {"name": "pool-0", "since_ms": 1, "until_ms": 9_999_999_999_999, **REASON},
    "DELETE /api/v1/maintenance/{maintenance_id}": None,
    "PUT /api/v1/pools/{pool}/limits": {"most": 4},
    "DELETE /api/v1/pools/{pool}/limits": None,
    "POST /api/v1/pools/{pool}/{verb}": REASON,
    "POST /api/v1/slices/{slice_id}/{verb}": REASON,
    "POST /api/v1/slices/{slice_id}/hosts/{host}/{verb}": REASON,
}
STEPS = {route for route in IN_PROJECT if re.search(r"\{(step|errand|artifact)\}", route)}
ROLES = ("viewer", "submitter", "admin")


@dataclass(frozen=True)
class Objects:
    """What a project has, to be asked for."""

    names: dict[str, str]

    def path(self, route: str) -> tuple[str, str]:
        method, _, path = route.partition(" ")
        return method, re.sub(r"\{(\w+)\}", lambda found: self.names[found[1]], path)


async def objects(rig: Rig, project: str) -> Objects:
    await add_project(rig, project)
    await add_user(rig, f"member-of-{project}", "viewer", project)
    job = await rig.submit(name=f"job-of-{project}", project=project, env_vars={"NOTE": f"bytes-of-{project}"})
    array = await rig.user.post("/api/v1/arrays", json={"spec": SPEC | {"project": project}, "sets": [{}]})
    base = f"/api/v1/projects/{project}"
    assert (await rig.user.put(f"{base}/secrets/KEY", json={"value": f"bytes-of-{project}"})).status_code == 204
    hook = await rig.user.post(f"{base}/webhooks", json={"url": "https://example.org/hook"})
    await rig.user.put(f"{base}/bundles/{DIGEST}", **with_project(RAW, project))
    names = {
        "digest": DIGEST,
        "job": job["id"],
        "array": array.json()["id"],
        "project": project,
        "user": f"member-of-{project}",
        "name": "KEY",
        "webhook": hook.json().get("id", ""),
        "pool": "pool",
        "slice_id": "pool-0",
        "maintenance_id": "mnt_none",
        "host": "0",
        "verb": "cordon",
        "token_id": "tok_none",
        "step": "1",
        "errand": "err_none",
        "artifact": "1",
    }
    return Objects(names)


def with_project(body: dict[str, Any] | None, project: str) -> dict[str, Any]:
    """The body as a request takes it."""
    if body is RAW:
        return {"content": ARCHIVE, "headers": {"Content-Type": "application/gzip"}}
    return {"json": json.loads(json.dumps(body).replace('"slices":', f'"project": "{project}", "slices":'))}


async def test_the_table_has_every_route(rig: Rig) -> None:
    paths = rig.app.openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert routes - OPEN - OTHERS == set(IN_PROJECT) | set(FOR_ALL) | set(FOR_GLOBAL_ADMINS)


async def test_each_role_may_do_what_the_table_says_and_nothing_foreign(rig: Rig) -> None:
    await rig.slice_up()
    ours, theirs = await objects(rig, OURS), await objects(rig, THEIRS)
    wrong: list[str] = []
    for role in (*ROLES, None):
        name = role or "stranger"
        await add_user(rig, name, role)
        async with await caller(rig, name) as who:
            for route, (least, body) in IN_PROJECT.items():
                may = role is not None and ROLES.index(role) >= ROLES.index(least)
                method, path = ours.path(route)
                answer = await who.request(method, path, **with_project(body, OURS))
                # 409: e.g. a retry of what has not ended; 404 of steps: the job has none yet
                allowed = answer.status_code < 400 or answer.status_code == 409 or (may and route in STEPS)
                expected = "yes" if may else "403" if role else "404"
                seen = "yes" if allowed else str(answer.status_code)
                if seen != expected:
                    wrong.append(f"{name}: {route}: {seen} {answer.text[:200]}, not {expected}")
                if route.startswith("DELETE") and may:
                    ours = Objects((await renewed(rig, ours)).names)
                method, path = theirs.path(route)
                foreign = await who.request(method, path, **with_project(body, THEIRS))
                if foreign.status_code != 404 or f"bytes-of-{THEIRS}" in foreign.text:
                    wrong.append(f"{name}: foreign {route}: {foreign.status_code} {foreign.text[:200]}")
            for route, given in FOR_GLOBAL_ADMINS.items():
                method, path = ours.path(route)
                answer = await who.request(method, path, json=given)
                if answer.status_code != 403:
                    wrong.append(f"{name}: {route}: {answer.status_code}, not 403")
            for route, given in FOR_ALL.items():
                if "stream" in route:
                    continue  # it does not end; `test_identity` follows one
                method, path = ours.path(route)
                answer = await who.request(method, path, json=given)
                if answer.status_code >= 400 and answer.status_code != 404:
                    wrong.append(f"{name}: {route}: {answer.status_code}")
                if f"of-{THEIRS}" in answer.text or (role is None and f"of-{OURS}" in answer.text):
                    wrong.append(f"{name}: {route} shows what is foreign: {answer.text[:300]}")
    assert not wrong, "\n".join(wrong)


async def renewed(rig: Rig, gone: Objects) -> Objects:
    """The objects again, after something of them was removed."""
    project = gone.names["project"]
    base = f"/api/v1/projects/{project}"
    await rig.user.put(f"{base}/members/{gone.names['user']}", json={"role": "viewer"})
    await rig.user.put(f"{base}/secrets/KEY", json={"value": f"bytes-of-{project}"})
    hook = await rig.user.post(f"{base}/webhooks", json={"url": "https://example.org/hook"})
    await rig.user.put(f"{base}/bundles/{DIGEST}", **with_project(RAW, project))
    return Objects(gone.names | {"webhook": hook.json().get("id", "")})


@pytest.mark.parametrize(("scope", "may"), [("read", "viewer"), ("write", "submitter"), ("admin", "admin")])
async def test_a_token_reaches_no_further_than_its_scope(rig: Rig, scope: str, may: str) -> None:
    ours = await objects(rig, OURS)
    await add_user(rig, "ann", "admin")
    async with await caller(rig, "ann", scope) as who:
        for route, (least, body) in IN_PROJECT.items():
            if route.startswith("DELETE"):
                continue
            method, path = ours.path(route)
            answer = await who.request(method, path, **with_project(body, OURS))
            expected = ROLES.index(may) >= ROLES.index(least)
            assert (answer.status_code != 403) is expected, f"{route}: {answer.text}"
