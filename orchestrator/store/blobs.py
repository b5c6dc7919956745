"""Blobs in a folder: logs, bundles, artifacts. Written at offsets: writing the same bytes again changes nothing."""

import os
import shutil
from pathlib import Path
from typing import BinaryIO, Final

from orchestrator.domain.ids import AttemptId, JobId

_SAFE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class Blobs:
    """Files under one root. Calls block; async callers hand them to a thread."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write_at(self, name: str, offset: int, data: bytes) -> None:
        """Write `data` at `offset`, creating the blob if it is new."""
        path = self._path(name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            left = memoryview(data)
            while left:
                written = os.pwrite(descriptor, left, offset)
                left, offset = left[written:], offset + written
        finally:
            os.close(descriptor)

    def read(self, name: str, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset` on; of a blob that is not there, none."""
        try:
            with self._path(name).open("rb") as file:
                file.seek(offset)
                return file.read(limit)
        except FileNotFoundError:
            return b""

    def open(self, name: str) -> BinaryIO:
        """The whole blob, to read.

        Raises:
            FileNotFoundError: it is not there.
        """
        return self._path(name).open("rb")

    def remove(self, name: str) -> None:
        """Remove one blob; one that is gone is removed."""
        self._path(name).unlink(missing_ok=True)

    def remove_folder(self, name: str) -> int:
        """Remove all blobs whose names begin with `name/`; 1 if there were any, else 0."""
        folder = self._path(name)
        if not folder.exists():
            return 0
        shutil.rmtree(folder)
        return 1

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        if not all(part and set(part) <= _SAFE and part.strip(".") for part in parts):
            raise ValueError(f"{name!r} is not the name of a blob")
        return self._root.joinpath(*parts)


def log_folder(job_id: JobId, attempt_id: AttemptId) -> str:
    return f"logs/{job_id}/{attempt_id}"


def log_name(job_id: JobId, attempt_id: AttemptId, rank: int, stream: str) -> str:
    return f"{log_folder(job_id, attempt_id)}/{rank}.{stream}"


def bundle_name(project: str, upload: str) -> str:
    """Of one upload, not of its content: what one upload writes and another's removal takes never meet."""
    return f"bundles/{project}/{upload}"


def artifact_folder(job_id: JobId, attempt_id: AttemptId) -> str:
    return f"artifacts/{job_id}/{attempt_id}"
