"""The fleet: what there is, and what admins take out of it and give back."""

from typing import Any, Literal
from urllib.parse import quote

from orchestrator.client.connection import Connection

Answer = dict[str, Any]
Verb = Literal["cordon", "drain", "quarantine", "readmit"]
_API = "/api/v1"


class Fleet:
    """Slices, hosts, clusters, and what is taken out. Every method raises `ApiError` or one of its kinds."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def slices(self) -> list[Answer]:
        return self._items("slices")

    def hosts(self) -> list[Answer]:
        return self._items("hosts")

    def clusters(self) -> list[Answer]:
        return self._items("clusters")

    def restrict_pool(self, pool: str, verb: Verb, reason: str) -> Answer:
        """Cordon, drain or quarantine a pool, or readmit it; the reason is kept."""
        return self._ask(f"pools/{quote(pool, safe='')}/{verb}", reason)

    def restrict_slice(self, slice_id: str, verb: Verb, reason: str) -> Answer:
        return self._ask(f"slices/{quote(slice_id, safe='')}/{verb}", reason)

    def restrict_host(self, slice_id: str, host: int, verb: Verb, reason: str) -> Answer:
        """A host that is out takes its slice out."""
        return self._ask(f"slices/{quote(slice_id, safe='')}/hosts/{host}/{verb}", reason)

    def _items(self, what: str) -> list[Answer]:
        return list(self._connection.get(f"{_API}/{what}")["items"])

    def _ask(self, path: str, reason: str) -> Answer:
        return dict(self._connection.post(f"{_API}/{path}", {"reason": reason}))
