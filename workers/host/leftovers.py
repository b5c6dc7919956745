"""Files that earlier agents of a host left: folders of attempts, compile caches and code that nobody uses any more."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

KEEP_S: Final = 7 * 86_400.0
"""Long after the last reports of an attempt are taken, and long enough for somebody to look at what a host kept."""


def remove_leftovers(*parents: Path) -> None:
    """Remove of these folders what was not written to for a week, save what a live process was started for."""
    oldest = time.time() - KEEP_S
    old = [folder for parent in parents for folder in _folders(parent) if _written_at(folder) < oldest]
    live = _live() if old else frozenset()
    for folder in old:
        if folder.name not in live:
            shutil.rmtree(folder, ignore_errors=True)


def _folders(parent: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (path for path in parent.iterdir() if path.is_dir() and not path.is_symlink())


def _written_at(folder: Path) -> float:
    """When the folder or a file in it was last written to: a folder's own time stays while its files grow."""
    times = [0.0]
    for path in (folder, *_entries(folder)):
        with contextlib.suppress(OSError):
            times.append(path.lstat().st_mtime)
    return max(times)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _live() -> frozenset[str]:
    """The attempts, with their jobs and code, that have processes on this machine."""
    found: set[str] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # ended meanwhile, or another user's
                for line in (entry / "environ").read_bytes().split(b"\0"):
                    name, _, value = line.partition(b"=")
                    if name in (b"PODWRIGHT_ATTEMPT_ID", b"PODWRIGHT_JOB_ID", b"PODWRIGHT_CODE"):
                        found.add(os.fsdecode(value))
    return frozenset(found)
