"""Whose token it is."""

import hmac
from dataclasses import dataclass

from sqlalchemy import select

from orchestrator.store.commands.tokens import token_hash
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import tokens


@dataclass(frozen=True, slots=True)
class TokenOwner:
    """`kind` is admin or cluster; `name` is a cluster's id."""

    kind: str
    name: str
    token_hash: str


async def owner(tx: ReadTx, token: str) -> TokenOwner | None:
    """The owner of a token; None if there is none."""
    hashed = token_hash(token)
    row = (await tx.ask(select(tokens).where(tokens.c.hash == hashed))).one_or_none()
    if row is None or not hmac.compare_digest(row.hash, hashed):
        return None
    return TokenOwner(row.kind, row.name, row.hash)
