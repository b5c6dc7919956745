"""Who calls. Users and clusters have tokens of their own; a rank has one that is good for its attempt only."""

import hashlib
import hmac
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Final

from fastapi import Depends, Request

from orchestrator.api.deps import Deps, WithDeps
from orchestrator.domain.access import Caller
from orchestrator.domain.errors import Forbidden, NotFound, Unauthenticated, Unavailable
from orchestrator.domain.ids import AttemptId, ClusterId
from orchestrator.store.commands.tokens import note_use, token_hash
from orchestrator.store.queries import tokens
from orchestrator.store.queries.tokens import Owner

_ATTEMPT_PREFIX: Final = "pwa_"
_USE_NOTED_MS: Final = 300_000
"""A token's last use is known to the minute or so: each request should not become a write."""


def attempt_token(server_key: bytes, attempt_id: AttemptId) -> str:
    """The token of an attempt: derived whenever it is needed, stored nowhere."""
    return _ATTEMPT_PREFIX + hmac.new(server_key, attempt_id.encode(), hashlib.sha256).hexdigest()


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated
    return token.strip()


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


async def _owner(request: Request, deps: WithDeps) -> Owner:
    token, address, now_ms = _bearer(request), _address(request), deps.clock.now_ms()
    hashed = token_hash(token)
    deps.logins.refuse_if_too_many(address, hashed, deps.clock.monotonic_ms())
    async with deps.database.read() as tx:
        found = await tokens.owner(tx, token, now_ms)
    if found is None:
        deps.logins.failed(address, hashed, deps.clock.monotonic_ms())
        raise Unauthenticated
    deps.logins.succeeded(hashed)
    await _note_use(deps, found, now_ms)
    return found


async def _note_use(deps: Deps, found: Owner, now_ms: int) -> None:
    if now_ms - (found.token.last_used_at_ms or 0) < _USE_NOTED_MS:
        return
    with suppress(Unavailable):  # a request must not fail for it
        async with deps.database.write_beside() as tx:
            await note_use(tx, found.token.id, now_ms)


async def _user(owner: Annotated[Owner, Depends(_owner)], request: Request) -> Caller:
    if owner.caller is None:
        raise Forbidden
    return replace(owner.caller, address=_address(request))


async def _admin(who: Annotated[Caller, Depends(_user)]) -> Caller:
    who.needs_global_admin()
    return who


async def _reader(who: Annotated[Caller, Depends(_user)]) -> Caller:
    if not who.admin:
        raise Forbidden("this needs a token of a global admin, of any scope")
    return who


async def _cluster(owner: Annotated[Owner, Depends(_owner)]) -> ClusterId:
    if owner.cluster is None:
        raise Forbidden
    return owner.cluster


async def _attempt(attempt_id: str, request: Request, deps: WithDeps) -> AttemptId:
    token = _bearer(request)
    if not token.startswith(_ATTEMPT_PREFIX):
        raise Unauthenticated
    if not hmac.compare_digest(token.encode(), attempt_token(deps.server_key, AttemptId(attempt_id)).encode()):
        # Whether another's attempt exists is not for this caller to know.
        raise NotFound(f"there is no attempt {attempt_id[:80]}")
    return AttemptId(attempt_id)


User = Annotated[Caller, Depends(_user)]
"""Anybody with a token of a user; what they may see and do, they say."""
GlobalAdmin = Annotated[Caller, Depends(_admin)]
GlobalReader = Annotated[Caller, Depends(_reader)]
"""Sees what belongs to no project; for monitoring a token of scope read."""
OfCluster = Annotated[ClusterId, Depends(_cluster)]
OfAttempt = Annotated[AttemptId, Depends(_attempt)]
