"""Users with roles, each with a token, made through the API."""

from typing import Any

import httpx

from tests.orchestrator.api.rig import Rig

OURS, THEIRS = "ours", "theirs"


async def add_project(rig: Rig, name: str) -> None:
    assert (await rig.user.post("/api/v1/projects", json={"name": name})).status_code == 201


async def add_user(rig: Rig, name: str, role: str | None = None, project: str = OURS, **fields: Any) -> None:
    assert (await rig.user.post("/api/v1/users", json={"name": name, **fields})).status_code == 201
    if role is not None:
        path = f"/api/v1/projects/{project}/members/{name}"
        assert (await rig.user.put(path, json={"role": role})).status_code == 200


async def token_of(rig: Rig, user: str, scope: str = "admin", **fields: Any) -> str:
    body = {"user": user, "name": "test", "scope": scope} | fields
    answer = await rig.user.post("/api/v1/tokens", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["token"])


async def caller(rig: Rig, user: str, scope: str = "admin") -> httpx.AsyncClient:
    return rig.caller(await token_of(rig, user, scope))
