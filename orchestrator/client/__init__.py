"""The Python SDK: `Client` talks to the control plane over HTTP. Imports the domain and nothing else of ours."""

from orchestrator.client.client import Client
from orchestrator.client.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServerError,
    UnauthenticatedError,
    UnavailableError,
    WaitTimeout,
)

__all__ = [
    "ApiError",
    "Client",
    "ConflictError",
    "ForbiddenError",
    "InvalidError",
    "NotFoundError",
    "ServerError",
    "UnauthenticatedError",
    "UnavailableError",
    "WaitTimeout",
]
