"""Schemathesis over the whole document, as each role, against a real server: no 5xx, no answer that the document does
not describe, no byte of a foreign project. The seed is fixed and the number of requests bounded."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.orchestrator.client.server import Server

SEED, EXAMPLES = 7, 6
FOREIGN = "bytes-of-another-project"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SKIPPED = ("/api/v1/events/stream", "/api/v1/link/", "/api/v1/ingest/")
"""A stream does not end; the others speak our own protocol, and their senders are our own code."""
ROLES = ("viewer", "submitter", "admin", "global")


@schemathesis.serializer("application/gzip")
def as_it_is(_ctx: schemathesis.SerializationContext, value: Any) -> bytes:
    """Any bytes at all stand for an archive: almost none is one."""
    found = getattr(value, "data", value)  # schemathesis wraps what it makes up
    return found if isinstance(found, bytes) else str(found).encode()


@dataclass(frozen=True)
class Target:
    url: str
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    server = Server.start(tmp_path_factory.mktemp("fuzz") / "state")
    headers = {"Authorization": f"Bearer {server.token()}"}
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers) as admin:
        for project in ("ours", "foreign"):
            admin.post("/projects", json={"name": project}).raise_for_status()
        tokens = {"global": server.token()}
        for role in ROLES[:-1]:
            admin.post("/users", json={"name": role}).raise_for_status()
            admin.put(f"/projects/ours/members/{role}", json={"role": role}).raise_for_status()
            made = admin.post("/tokens", json={"user": role, "name": "fuzz", "scope": "admin"})
            tokens[role] = made.raise_for_status().json()["token"]
        for project, name in (("foreign", FOREIGN), ("ours", "mine")):
            spec = {"name": name, "project": project, "program": {"command": ["true"]}, "slices": "v5e:2x4"}
            admin.post("/jobs", json=spec).raise_for_status()
    yield Target(server.url, tokens)
    server.stop()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("role", ROLES)
def test_no_request_breaks_the_server_or_the_document(target: Target, role: str) -> None:
    schema = schemathesis.openapi.from_url(f"{target.url}/api/v1/openapi.json")
    headers = {"Authorization": f"Bearer {target.tokens[role]}"}
    seen: Counter[int] = Counter()
    wrong: list[str] = []
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.startswith(SKIPPED):
            continue

        @with_seed(SEED)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def fuzz(case: Any) -> None:
            response = case.call(headers=headers)
            seen[response.status_code] += 1
            if role != "global" and FOREIGN in response.text:
                wrong.append(f"{case.method} {case.path} shows what is foreign")
            case.validate_response(response, checks=CHECKS)

        try:
            fuzz()
        except Exception as error:  # noqa: BLE001  # all findings at once, each with the request that shows it
            wrong.append(f"{operation.method.upper()} {operation.path}: {error!r:.1500}")
    print(f"{role}: {sum(seen.values())} requests, {dict(sorted(seen.items()))}")
    assert not wrong, "\n\n".join(wrong)
