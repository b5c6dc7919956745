"""Errors as problem+json (RFC 9457): one table gives each its status and stable type. No body holds a trace."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from orchestrator.domain.errors import (
    Conflict,
    Fault,
    Forbidden,
    IllegalTransition,
    InvalidInput,
    NotFound,
    PodwrightError,
    Stale,
    Superseded,
    TooManyFailures,
    Unauthenticated,
    Unavailable,
)
from orchestrator.domain.masking import mask_tokens

STATUS: Final[Mapping[type[PodwrightError], tuple[int, str]]] = MappingProxyType(
    {
        InvalidInput: (422, "invalid-input"),
        NotFound: (404, "not-found"),
        Stale: (412, "stale"),
        TooManyFailures: (429, "too-many-failures"),
        Superseded: (409, "superseded"),
        Conflict: (409, "conflict"),
        Unauthenticated: (401, "unauthenticated"),
        Forbidden: (403, "forbidden"),
        Unavailable: (503, "unavailable"),
        IllegalTransition: (500, "internal"),
    }
)

# Not from the standard library's phrases: they change with Python's version, and types are stable.
_OF_HTTP: Final[Mapping[int, str]] = MappingProxyType(
    {404: "not-found", 405: "method-not-allowed", 413: "too-large", 415: "unsupported-media-type"}
)

_RETRY_AFTER_S: Final = "2"
_HEADERS: Final[Mapping[int, Mapping[str, str]]] = MappingProxyType(
    {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}, 503: {"Retry-After": _RETRY_AFTER_S}}
)

log = structlog.get_logger()


def install(app: FastAPI) -> None:
    """Make every error of `app` a problem."""
    app.add_exception_handler(PodwrightError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_parameters)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(ClientDisconnect, _of_a_client_that_left)
    app.add_exception_handler(Exception, _of_a_defect)


def status_of(error: PodwrightError) -> tuple[int, str]:
    """The row of the error's class, or of the nearest class that it is derived from."""
    for kind in type(error).__mro__:
        if kind in STATUS:
            return STATUS[kind]
    return 500, "internal"


async def _of_ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, PodwrightError)
    status, kind = status_of(error)
    if status == 500:
        log.error("a request failed", path=request.url.path, error=str(error))
        return _problem(request, status, kind, "the server could not do this; its log says why")
    faults = error.faults if isinstance(error, InvalidInput) else ()
    return _problem(request, status, kind, str(error), faults)


async def _of_parameters(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    faults = tuple(Fault(".".join(map(str, found["loc"])), str(found["msg"])) for found in error.errors())
    return _problem(request, 422, "invalid-input", "parameters hold values that are not allowed", faults)


async def _of_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    kind = _OF_HTTP.get(error.status_code, "http")
    return _problem(request, error.status_code, kind, str(error.detail), headers=error.headers)


async def _of_a_client_that_left(request: Request, _error: Exception) -> JSONResponse:
    """Nobody hears it; but whoever leaves while they send a body is no defect, and shall leave no trace in the log."""
    return _problem(request, 400, "http", "the request's body did not come whole")


async def _of_a_defect(request: Request, _error: Exception) -> JSONResponse:
    # Starlette raises the error once more behind this answer, and the server logs it with its trace.
    return _problem(request, 500, "internal", "the server could not do this; its log says why")


def _problem(
    request: Request,
    status: int,
    kind: str,
    detail: str,
    faults: tuple[Fault, ...] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    body: dict[str, Any] = {
        "type": f"urn:podwright:problem:{kind}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": mask_tokens(detail),
        "instance": request.url.path,
    }
    if faults:
        body["errors"] = [{"path": fault.path, "message": mask_tokens(fault.message)} for fault in faults]
    sent = {**_HEADERS.get(status, {}), **(headers or {})}
    return JSONResponse(body, status, headers=sent, media_type="application/problem+json")
