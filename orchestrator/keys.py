"""The files that hold a server's key and tokens: read, and made if this process is the first that needs them."""

import os
import secrets
from pathlib import Path
from typing import Final

from orchestrator.settings import BadSettings, TokenFile
from orchestrator.store.commands.tokens import add_token
from orchestrator.store.database import Database

_PREFIXES: Final = {"admin": "pwt_", "cluster": "pwc_"}
_SHORTEST_TOKEN: Final = 24
_KEY_BYTES: Final = 32


async def let_in(database: Database, of: TokenFile, now_ms: int) -> None:
    """Let the token of that file in; also if the file is old: the database may be new.

    Raises:
        BadSettings: the file holds no token.
    """
    if of.made:
        _make(of.path, _PREFIXES[of.kind] + secrets.token_urlsafe(32))
    try:
        token = of.path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"the {of.kind} token cannot be read: {error}") from None
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or len(token.split()) != 1:
        raise BadSettings(f"{of.path} must hold one token of at least {_SHORTEST_TOKEN} characters and nothing else")
    async with database.write() as tx:
        await add_token(tx, token, of.kind, of.name, now_ms)


def server_key(path: Path) -> bytes:
    """The key on which attempt tokens and sealed secrets rest; made if it is not there.

    Raises:
        BadSettings: the file holds no key. A new one would open no secret that is sealed.
    """
    _make(path, secrets.token_hex(_KEY_BYTES))
    try:
        key = bytes.fromhex(path.read_text().strip())
    except (OSError, ValueError) as error:
        raise BadSettings(f"the server's key cannot be read from {path}: {error}") from None
    if len(key) != _KEY_BYTES:
        raise BadSettings(f"{path} holds {len(key)} bytes in hexadecimal digits; a server's key has {_KEY_BYTES}")
    return key


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    _fresh(path, text).replace(path)


def _make(path: Path, text: str) -> None:
    """Write a private file unless it is there. Of two processes that make it at once, one does, and both read that."""
    if path.exists():
        return
    fresh = _fresh(path, text)
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        return
    finally:
        fresh.unlink()


def _fresh(path: Path, text: str) -> Path:
    """A file beside `path`, of this process alone: in containers that share a folder process ids are equal."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")
    return fresh
