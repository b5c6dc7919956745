"""Maintenance over the API: when slices are out, and why."""

from typing import Any, Final
from urllib.parse import quote

from orchestrator.client.connection import Connection

_PATH: Final = "/api/v1/maintenance"


class Maintenance:
    """What a `Client` has as `maintenance`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> list[dict[str, Any]]:
        """What is under way or to come, soonest first."""
        return list(self._connection.get(_PATH)["items"])

    def declare(self, name: str, since_ms: int, until_ms: int, reason: str, *, pool: bool = False) -> dict[str, Any]:
        """A slice, or with `pool` every slice of a pool, is out in `[since_ms, until_ms)`; what was declared."""
        body = {"target": "pool" if pool else "slice", "name": name, "reason": reason}
        return dict(self._connection.post(_PATH, {**body, "since_ms": since_ms, "until_ms": until_ms}))

    def withdraw(self, id: str) -> None:
        """Take it back; what is under way is over."""
        self._connection.delete(f"{_PATH}/{quote(id, safe='')}")
