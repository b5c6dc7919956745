"""Tokens: made, shown once, listed without themselves, revoked."""

import secrets
from typing import Annotated, Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.domain.access import Caller, Scope
from orchestrator.domain.errors import Fault, Forbidden, InvalidInput, NotFound
from orchestrator.store.commands import tokens as commands
from orchestrator.store.commands.tokens import NewToken
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import people, tokens

router = APIRouter(prefix="/api/v1/tokens", tags=["tokens"], route_class=StrictRoute)

_PREFIX: Final = {"user": "pwt_", "cluster": "pwc_"}
_LONGEST_S: Final = 10 * 366 * 86_400


class TokenBody(Asked):
    kind: Literal["user", "cluster"] = "user"
    user: str | None = None
    """Whose it is; without it the caller's own. Only a global admin makes tokens for others."""
    name: Annotated[str, Field(min_length=1, max_length=63)]
    """A label; of a cluster's token the cluster's id."""
    scope: Scope = Scope.WRITE
    expires_in_s: Annotated[int, Field(strict=True, ge=1, le=_LONGEST_S)] | None = None


class TokenView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: str
    kind: str
    name: str
    user: str | None
    scope: Scope
    created_at_ms: int
    expires_at_ms: int | None
    last_used_at_ms: int | None
    """Known to within some minutes."""


class MadeToken(TokenView):
    token: str
    """Shown here, once, and nowhere again."""


class TokenList(BaseModel):
    items: list[TokenView]


@router.post("", status_code=201)
async def make_token(body: TokenBody, who: User, deps: WithDeps) -> MadeToken:
    token, now_ms = _PREFIX[body.kind] + secrets.token_urlsafe(32), deps.clock.now_ms()
    until_ms = None if body.expires_in_s is None else now_ms + 1_000 * body.expires_in_s
    async with deps.database.write() as tx:
        user = await _owner(tx, body, who)
        wanted = NewToken(body.kind, body.name, user, body.scope, until_ms)
        token_id = await commands.issue(tx, token, wanted, now_ms, who.actor)
        made = await tokens.token_by_id(tx, token_id)
    return MadeToken(token=token, **TokenView.model_validate(made).model_dump())


@router.get("")
async def list_tokens(who: User, deps: WithDeps) -> TokenList:
    """The caller's own; a global admin sees all."""
    async with deps.database.read() as tx:
        found = await tokens.all_tokens(tx, None if who.admin else who.name)
    return TokenList(items=[TokenView.model_validate(one) for one in found])


@router.delete("/{token_id}", status_code=204)
async def revoke_token(token_id: str, who: User, deps: WithDeps) -> None:
    """From now on it opens nothing; streams that it opened end."""
    async with deps.database.write() as tx:
        found = await tokens.token_by_id(tx, token_id)
        if not who.admin and found.user != who.name:
            raise NotFound(f"there is no token {token_id[:80]!r}")
        if who.scope is Scope.READ and found.id != who.token_id:
            raise Forbidden("a token of scope read revokes nothing but itself")
        await commands.revoke(tx, token_id, deps.clock.now_ms(), who.actor)


async def _owner(tx: ReadTx, body: TokenBody, who: Caller) -> str | None:
    """Whose the new token is; None: a cluster's. A token makes none that can do more than itself."""
    if body.kind == "cluster":
        who.needs_global_admin()
        return None
    owner = body.user or who.name
    if owner != who.name:
        who.needs_global_admin()
    elif not who.scope.covers(body.scope):
        raise Forbidden(f"this token has the scope {who.scope}, and makes none of scope {body.scope}")
    try:
        found = await people.user(tx, owner)
    except NotFound as error:
        raise InvalidInput((Fault("user", str(error)),)) from None
    if found.disabled:
        raise InvalidInput((Fault("user", f"{owner} is disabled"),))
    return owner
