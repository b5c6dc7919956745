"""Tokens are kept as hashes: whoever reads the database can use none."""

import hashlib

from orchestrator.store.database import WriteTx
from orchestrator.store.schema import tokens


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


async def add_token(tx: WriteTx, token: str, kind: str, name: str, now_ms: int) -> None:
    """Let `token` in from now on; for a `cluster` token the name is the cluster's id."""
    row = {"hash": token_hash(token), "kind": kind, "name": name, "created_at_ms": now_ms}
    await tx.add_new(tokens, [row])
