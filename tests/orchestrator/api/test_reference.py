from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator

from orchestrator.api import openapi
from orchestrator.api.app import add_routes
from orchestrator.api.reference import page
from tests.orchestrator.client.server import REPOSITORY


def test_the_reference_page_is_what_the_code_says() -> None:
    assert (REPOSITORY / "docs" / "reference" / "api.md").read_text() == page()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    app = FastAPI(title="Podwright")
    add_routes(app)
    return openapi.document(app)


def json_bodies(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None:
                yield f"{method.upper()} {path}", content


def test_every_json_body_has_an_example_that_its_schema_takes(document: dict[str, Any]) -> None:
    wrong = []
    for route, content in json_bodies(document):
        if "example" not in content:
            wrong.append(f"{route} has no example")
            continue
        whole = {**content["schema"], "components": document["components"]}
        wrong += [f"{route}: {one.message}" for one in Draft202012Validator(whole).iter_errors(content["example"])]
    assert not wrong, "\n".join(wrong)


def test_bodies_that_routes_read_by_themselves_are_described(document: dict[str, Any]) -> None:
    described = {route for route, _ in json_bodies(document)}
    assert {
        "POST /api/v1/jobs/{job}/continue",
        "POST /api/v1/jobs/{job}/checkpoints/{step}/pin",
        "POST /api/v1/jobs/{job}/checkpoints/{step}/errands",
    } <= described
