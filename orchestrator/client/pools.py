"""Pools over the API: what there is, what may be asked for, what is wished."""

from typing import Any, Final
from urllib.parse import quote

from orchestrator.client.connection import Connection

_PATH: Final = "/api/v1/pools"


class Pools:
    """What a `Client` has as `pools`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> list[dict[str, Any]]:
        """All pools; of those that have `limits`, what is wished of them."""
        return list(self._connection.get(_PATH)["items"])

    def limit(self, pool: str, least: int, most: int) -> dict[str, Any]:
        """How many slices the pool may have."""
        return dict(self._connection.put(_limits(pool), {"least": least, "most": most}))

    def unlimit(self, pool: str) -> None:
        """Wish nothing of the pool any more."""
        self._connection.delete(_limits(pool))


def _limits(pool: str) -> str:
    return f"{_PATH}/{quote(pool, safe='')}/limits"
