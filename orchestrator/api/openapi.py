"""The API's document: what FastAPI knows of the routes, and besides it every error, the job spec, and examples."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from orchestrator.api.examples import BODIES, EXAMPLE_SPEC, EXAMPLES
from orchestrator.store.specs import SPEC

_OPEN: Final = frozenset({"/healthz", "/readyz", "/api/v1/version"})
_BODIES: Final = frozenset({"post", "put", "patch"})
_PROBLEM: Final = "#/components/schemas/Problem"

PROBLEM: Final[dict[str, Any]] = {
    "title": "Problem",
    "description": "An error (RFC 9457). `type` is stable; `errors` names each fault with its path in the request.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "message"],
                "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
    "example": {
        "type": "urn:podwright:problem:invalid-input",
        "title": "Unprocessable Entity",
        "status": 422,
        "detail": "slices: 3x3 of v5e is not sold",
        "instance": "/api/v1/jobs",
        "errors": [{"path": "slices", "message": "3x3 of v5e is not sold"}],
    },
}

_SAYS: Final = {
    401: "no valid token",
    403: "the token may not do that",
    404: "there is no such thing, or not for this caller",
    405: "no such verb here",
    409: "it does not fit the present state",
    412: "it was changed since the caller saw it",
    413: "the body is too large",
    415: "the body is not declared as JSON",
    422: "values that are not allowed, each with its path",
    429: "too many failed logins from this address",
    503: "the server cannot answer now; try again",
}


def install(app: FastAPI) -> None:
    """Let the application describe itself so."""
    app.openapi = lambda: app.openapi_schema or _remember(app)  # type: ignore[method-assign]  # FastAPI's own way


def _remember(app: FastAPI) -> dict[str, Any]:
    app.openapi_schema = document(app)
    return app.openapi_schema


def document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(title=app.title, version="1", routes=app.routes, description=_DESCRIPTION)
    schemas = made["components"]["schemas"]
    schemas["Problem"] = PROBLEM
    schemas.update(_spec_schemas())
    schemas.update({model.__name__: model.model_json_schema() for model in BODIES.values()})
    for gone in ("HTTPValidationError", "ValidationError"):
        schemas.pop(gone, None)
    made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            _describe(path, method, operation)
    return made


def _describe(path: str, method: str, operation: dict[str, Any]) -> None:
    route = f"{method.upper()} {path}"
    if (model := BODIES.get(route)) is not None:
        schema = {"$ref": f"#/components/schemas/{model.__name__}"}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if route in EXAMPLES:
        operation["requestBody"]["content"]["application/json"]["example"] = EXAMPLES[route]
    operation["security"] = [] if path in _OPEN else [{"token": []}]
    for status in _errors(path, method):
        operation["responses"][str(status)] = {
            "description": f"{HTTPStatus(status).phrase}: {_SAYS[status]}",
            "content": {"application/problem+json": {"schema": {"$ref": _PROBLEM}}},
        }


def _errors(path: str, method: str) -> Iterator[int]:
    yield 503
    if path in _OPEN:
        return
    yield from (401, 403, 404, 422, 429)
    if method != "get":
        yield from (409, 412)
    if method in _BODIES:
        yield from (413, 415)


def _spec_schemas() -> dict[str, Any]:
    spec = SPEC.json_schema(ref_template="#/components/schemas/{model}")
    parts: dict[str, Any] = spec.pop("$defs", {})
    return {**parts, "JobSpec": {**spec, "example": EXAMPLE_SPEC}}


_DESCRIPTION: Final = """\
Every answer is strict JSON; NaN and the infinities travel as strings, times are Unix milliseconds. Errors are problem
documents. Lists are paged by cursors that stay exact while rows are added. A POST that makes something takes
`Idempotency-Key`; a change takes `If-Match` with the ETag that was seen. What the caller may not see is not found.
"""
