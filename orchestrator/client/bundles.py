"""Bundles of code: packed here, uploaded once."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from orchestrator.client.connection import Connection
from orchestrator.client.errors import NotFoundError
from orchestrator.client.packing import Packed, pack
from orchestrator.domain.bundles import is_digest

Answer = dict[str, Any]

_GZIP: Final = "application/gzip"


class Bundles:
    """A project's bundles. Every method raises `ApiError` or one of its kinds."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def upload(self, project: str, folder: Path) -> Answer:
        """Pack a folder and upload it, unless it is there; the bundle.

        Raises:
            BadBundle: it is no folder, or holds what no bundle may.
        """
        packed = pack(folder)
        try:
            found = self.get(project, packed.digest)
        except NotFoundError:
            found = dict(self._connection.put_bytes(_path(project, packed.digest), packed.archive, _GZIP))
        if found["dirty"] is None and packed.origin is not None:
            self._describe(project, packed)
            return self.get(project, packed.digest)
        return found

    def list(self, project: str, *, limit: int = 50, cursor: str | None = None) -> Answer:
        """A page of bundles: `items` and `next_cursor`."""
        return dict(self._connection.get(_path(project), {"limit": limit, "cursor": cursor}))

    def get(self, project: str, digest: str) -> Answer:
        return dict(self._connection.get(_path(project, digest)))

    def download(self, project: str, digest: str) -> Iterator[bytes]:
        """The archive, a gzipped tar, as it comes."""
        return self._connection.pieces(_path(project, digest, "archive"))

    def remove(self, project: str, digest: str) -> None:
        """Refused while a job names it."""
        self._connection.delete(_path(project, digest))

    def with_code(self, spec: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """The spec with the digest of a bundle where it names a folder, which is then uploaded to its project."""
        program = spec.get("program")
        code = program.get("code") if isinstance(program, Mapping) else None
        if not isinstance(program, Mapping) or not isinstance(code, str) or is_digest(code):
            return dict(spec)
        project = spec.get("project", "default")
        if not isinstance(project, str):
            return dict(spec)  # the server says what is wrong with it
        found = self.upload(project, folder / code)
        return {**spec, "program": {**program, "code": found["digest"]}}

    def _describe(self, project: str, packed: Packed) -> None:
        assert packed.origin is not None
        said = {"commit": packed.origin.commit, "dirty": packed.origin.dirty, "diff": packed.origin.diff}
        self._connection.put(_path(project, packed.digest, "origin"), said)


def _path(project: str, *parts: str) -> str:
    return "/".join((f"/api/v1/projects/{quote(project, safe='')}/bundles", *(quote(part, safe="") for part in parts)))
