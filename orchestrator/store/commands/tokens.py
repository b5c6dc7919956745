"""Tokens are kept as hashes: whoever reads the database can use none."""

import hashlib
from dataclasses import dataclass

from sqlalchemy import delete, update

from orchestrator.domain.access import Actor, Scope
from orchestrator.domain.job import Event
from orchestrator.store.commands import events
from orchestrator.store.database import WriteTx
from orchestrator.store.schema import tokens


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


async def add_token(tx: WriteTx, token: str, kind: str, name: str, now_ms: int) -> None:
    """Let `token` in from now on with all that its kind may do; for a `cluster` token the name is the cluster's id."""
    hashed = token_hash(token)
    row = {"hash": hashed, "id": f"tok_{hashed[:16]}", "kind": kind, "name": name, "created_at_ms": now_ms}
    await tx.add_new(tokens, [row | {"scope": Scope.ADMIN.value}])


@dataclass(frozen=True, slots=True)
class NewToken:
    """What a token is to be for."""

    kind: str
    name: str
    """A cluster's id, or a label."""
    user: str | None
    scope: Scope
    expires_at_ms: int | None


async def issue(tx: WriteTx, token: str, wanted: NewToken, now_ms: int, by: Actor) -> str:
    """Let a new token in; its id. The event of it names the id and not the token."""
    hashed = token_hash(token)
    token_id = f"tok_{hashed[:16]}"
    row = {
        "hash": hashed,
        "id": token_id,
        "kind": wanted.kind,
        "name": wanted.name,
        "user_name": wanted.user,
        "scope": wanted.scope.value,
        "created_at_ms": now_ms,
        "expires_at_ms": wanted.expires_at_ms,
    }
    await tx.add_new(tokens, [row])
    said = f"token {token_id} was made for {wanted.user or wanted.name}, scope {wanted.scope}"
    await events.append(tx, [Event("token.created", now_ms, said, by=by)])
    return token_id


async def revoke(tx: WriteTx, token_id: str, now_ms: int, by: Actor) -> None:
    """Let the token in no more."""
    await tx.tell(delete(tokens).where(tokens.c.id == token_id))
    await events.append(tx, [Event("token.revoked", now_ms, f"token {token_id} was revoked", by=by)])


async def note_use(tx: WriteTx, token_id: str, now_ms: int) -> None:
    await tx.tell(update(tokens).where(tokens.c.id == token_id).values(last_used_at_ms=now_ms))
