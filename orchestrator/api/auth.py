"""Who calls. Users and clusters have tokens of their own; a rank has one that is good for its attempt only."""

import hashlib
import hmac
from typing import Annotated, Final

from fastapi import Depends, Request

from orchestrator.api.deps import WithDeps
from orchestrator.domain.errors import Forbidden, NotFound, Unauthenticated
from orchestrator.domain.ids import AttemptId, ClusterId
from orchestrator.store.queries import tokens
from orchestrator.store.queries.tokens import TokenOwner

_ATTEMPT_PREFIX: Final = "pwa_"


def attempt_token(server_key: bytes, attempt_id: AttemptId) -> str:
    """The token of an attempt: derived whenever it is needed, stored nowhere."""
    return _ATTEMPT_PREFIX + hmac.new(server_key, attempt_id.encode(), hashlib.sha256).hexdigest()


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated
    return token.strip()


async def _owner(request: Request, deps: WithDeps) -> TokenOwner:
    async with deps.database.read() as tx:
        found = await tokens.owner(tx, _bearer(request))
    if found is None:
        raise Unauthenticated
    return found


async def _admin(owner: Annotated[TokenOwner, Depends(_owner)]) -> TokenOwner:
    if owner.kind != "admin":
        raise Forbidden
    return owner


async def _cluster(owner: Annotated[TokenOwner, Depends(_owner)]) -> ClusterId:
    if owner.kind != "cluster":
        raise Forbidden
    return ClusterId(owner.name)


async def _attempt(attempt_id: str, request: Request, deps: WithDeps) -> AttemptId:
    token = _bearer(request)
    if not token.startswith(_ATTEMPT_PREFIX):
        raise Unauthenticated
    if not hmac.compare_digest(token.encode(), attempt_token(deps.server_key, AttemptId(attempt_id)).encode()):
        # Whether another's attempt exists is not for this caller to know.
        raise NotFound(f"there is no attempt {attempt_id[:80]}")
    return AttemptId(attempt_id)


Admin = Annotated[TokenOwner, Depends(_admin)]
OfCluster = Annotated[ClusterId, Depends(_cluster)]
OfAttempt = Annotated[AttemptId, Depends(_attempt)]
