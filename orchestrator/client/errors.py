"""What can go wrong when talking to the server, as one tree.

ApiError
├── InvalidError            422, 413, 415; faults, each with its path
├── NotFoundError           404
├── ConflictError           409
├── UnauthenticatedError    401
├── ForbiddenError          403
├── UnavailableError        503, or no connection at all: try again
├── ServerError             anything else
└── WaitTimeout             `wait` gave up; the job goes on
"""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.domain.errors import Fault


class ApiError(Exception):
    """The server did not do it. `status` is None when there was no answer."""

    def __init__(
        self, message: str, status: int | None = None, kind: str | None = None, faults: tuple[Fault, ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        """The problem's type, `urn:podwright:problem:…`."""
        self.faults = faults


class InvalidError(ApiError):
    """The request holds values that are not allowed."""


class NotFoundError(ApiError):
    """There is no such thing, or it is not yours."""


class ConflictError(ApiError):
    """The request does not fit the present state."""


class UnauthenticatedError(ApiError):
    """The token is missing or not valid."""


class ForbiddenError(ApiError):
    """This token may not do that."""


class UnavailableError(ApiError):
    """The server cannot be reached, or cannot answer now."""


class ServerError(ApiError):
    """The server failed."""


class WaitTimeout(ApiError):
    """The job did not end in time; it goes on."""


_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
    503: UnavailableError,
}


def error_of(status: int, problem: Mapping[str, Any]) -> ApiError:
    """The error that a problem document tells of."""
    faults = tuple(Fault(str(one.get("path")), str(one.get("message"))) for one in problem.get("errors", ()))
    message = str(problem.get("detail") or problem.get("title") or f"the server answered {status}")
    return _BY_STATUS.get(status, ServerError)(message, status, problem.get("type"), faults)
