"""A rank's output folder: what is in it, and reading it without following where its names might lead.

The program may change it at any moment. What is read is opened name by name, and links are never followed.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.domain.artifacts import MAX_RANK_FILES
from orchestrator.domain.bundles import BadBundle, checked_path

FOLDER: Final = "output"
MOST: Final = 2 * MAX_RANK_FILES
"""Of a folder with more than that nobody learns everything."""
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file as it was seen; `refused` says why it is not to be had."""

    path: str
    size: int
    modified_ns: int
    refused: str | None = None


def listing(folder: Path) -> tuple[OutputFile, ...]:
    """The files in it, at most `MOST`; nothing where there is no folder."""
    found: list[OutputFile] = []
    for file in _files(folder, ""):
        if len(found) == MOST:
            break
        found.append(file)
    return tuple(found)


def read(folder: Path, path: str, offset: int, limit: int) -> bytes:
    """At most `limit` bytes of a file from `offset` on.

    Raises:
        OSError: it is not there, or is no file that lies in the folder.
        BadBundle: no file may have this path.
    """
    *parents, name = checked_path(path).split("/")
    inside = os.open(folder, _READ | os.O_DIRECTORY)
    try:
        for parent in parents:
            below = os.open(parent, _READ | os.O_DIRECTORY, dir_fd=inside)
            os.close(inside)
            inside = below
        file = os.open(name, _READ, dir_fd=inside)
    finally:
        os.close(inside)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(f"{path} is no regular file")
        return os.pread(file, limit, offset)
    finally:
        os.close(file)


def _files(folder: Path, above: str) -> Iterator[OutputFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # not there, or gone meanwhile
        return
    for entry in entries:
        path = f"{above}{entry.name}"
        try:
            seen = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISDIR(seen.st_mode) and (refused := _refused(f"{path}/x")) is None:
            yield from _files(Path(entry.path), f"{path}/")
        elif not stat.S_ISREG(seen.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(seen.st_mode) else "no regular file"
            yield _without_content(path, f"is {kind}" if not stat.S_ISDIR(seen.st_mode) else refused or "")
        elif (refused := _refused(path)) is not None:
            yield _without_content(path, refused)
        else:
            yield OutputFile(path, seen.st_size, seen.st_mtime_ns)


def _refused(path: str) -> str | None:
    try:
        checked_path(path)
    except BadBundle as error:
        return str(error)
    return None


def _without_content(path: str, why: str) -> OutputFile:
    """Under a name that can be told: the file's own may hold anything."""
    if _refused(path) is None:
        return OutputFile(path, 0, 0, why)
    shown = ascii(path)[1:-1].replace("\\", "_").replace("/", "_")
    return OutputFile(shown[:200] or "_", 0, 0, why)
