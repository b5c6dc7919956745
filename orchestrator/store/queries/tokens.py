"""Whose token it is, and which tokens there are."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, select

from orchestrator.domain.access import Caller, Role, Scope
from orchestrator.domain.errors import NotFound
from orchestrator.domain.ids import ClusterId
from orchestrator.store.commands.tokens import token_hash
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import members, tokens, users


@dataclass(frozen=True, slots=True)
class Token:
    """All about a token but the token. `name` is a cluster's id, or a label."""

    id: str
    kind: str
    name: str
    user: str | None
    scope: Scope
    created_at_ms: int
    expires_at_ms: int | None
    last_used_at_ms: int | None


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a token that is good now: a caller, or a cluster."""

    token: Token
    caller: Caller | None
    cluster: ClusterId | None


async def owner(tx: ReadTx, token: str, now_ms: int) -> Owner | None:
    """The owner of a token; None if there is none, if it has expired, or if its user is disabled."""
    asked = (
        select(tokens, users.c.admin, users.c.disabled)
        .outerjoin(users, users.c.name == tokens.c.user_name)
        .where(tokens.c.hash == token_hash(token))
    )
    row = (await tx.ask(asked)).one_or_none()
    if row is None or row.disabled or (row.expires_at_ms is not None and now_ms >= row.expires_at_ms):
        return None
    found = _token(row)
    match row.kind:
        case "cluster":
            return Owner(found, None, ClusterId(row.name))
        case "admin":
            return Owner(found, Caller(row.name, row.id, admin=True, scope=found.scope), None)
    roles = {} if row.admin else await roles_of(tx, row.user_name)
    return Owner(found, Caller(row.user_name, row.id, bool(row.admin), found.scope, roles), None)


async def roles_of(tx: ReadTx, user: str) -> dict[str, Role]:
    """The user's role in each project of theirs."""
    found = await tx.ask(select(members.c.project, members.c.role).where(members.c.user_name == user))
    return {row.project: Role(row.role) for row in found}


async def still_holds(tx: ReadTx, who: Caller, now_ms: int) -> bool:
    """Whether the caller's token is still good, and their roles still those."""
    asked = (
        select(tokens, users.c.admin, users.c.disabled)
        .outerjoin(users, users.c.name == tokens.c.user_name)
        .where(tokens.c.id == who.token_id)
    )
    row = (await tx.ask(asked)).one_or_none()
    if row is None or row.disabled or (row.expires_at_ms is not None and now_ms >= row.expires_at_ms):
        return False
    if row.kind == "admin" or who.admin:
        return row.kind == "admin" or bool(row.admin)
    return await roles_of(tx, row.user_name) == dict(who.roles)


async def all_tokens(tx: ReadTx, user: str | None = None) -> tuple[Token, ...]:
    """All tokens, newest first; or those of one user."""
    asked = select(tokens).order_by(tokens.c.created_at_ms.desc(), tokens.c.id)
    if user is not None:
        asked = asked.where(tokens.c.user_name == user)
    return tuple(_token(row) for row in await tx.ask(asked))


async def token_by_id(tx: ReadTx, token_id: str) -> Token:
    """The token of that id.

    Raises:
        NotFound: there is none.
    """
    row = (await tx.ask(select(tokens).where(tokens.c.id == token_id))).one_or_none()
    if row is None:
        raise NotFound(f"there is no token {token_id[:80]!r}")
    return _token(row)


def _token(row: Row[Any]) -> Token:
    fields = row._mapping
    return Token(
        fields["id"],
        fields["kind"],
        fields["name"],
        fields["user_name"],
        Scope(fields["scope"]),
        fields["created_at_ms"],
        fields["expires_at_ms"],
        fields["last_used_at_ms"],
    )
