"""Artifacts: the files that a job's program left in `$PODWRIGHT_OUTPUT`."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from orchestrator.client.connection import Connection

Answer = dict[str, Any]


class Artifacts:
    """A job's artifacts. Every method raises `ApiError` or one of its kinds."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self, job: str, *, attempt: int | None = None, rank: int | None = None, prefix: str | None = None
    ) -> list[Answer]:
        """All of them, of all attempts unless one is named; those that were skipped say why."""
        found: list[Answer] = []
        cursor: str | None = None
        while True:
            asked = {"attempt": attempt, "rank": rank, "prefix": prefix, "limit": 200, "cursor": cursor}
            page = self._connection.get(_path(job), asked)
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    def download(self, job: str, artifact: int) -> Iterator[bytes]:
        """The file's bytes as they come."""
        return self._connection.pieces(_path(job, artifact, "content"))

    def preview(self, job: str, artifact: int) -> Answer:
        """The beginning of the file: `kind`, and the field that goes with it."""
        return dict(self._connection.get(_path(job, artifact, "preview")))


def _path(job: str, artifact: int | None = None, part: str = "") -> str:
    base = f"/api/v1/jobs/{quote(job, safe='')}/artifacts"
    return base if artifact is None else f"{base}/{artifact}/{part}"
