"""Bundles of code on a host: unpacked once, read-only, kept by digest for the attempts that run in them.

`<root>/<digest>/` holds `archive`, as it was fetched, and `files/`, in which programs run. Ranks may run as root, whom
modes do not stop: so what is there is compared with its archive before it is used again.
"""

import contextlib
import hashlib
import io
import os
import shutil
import uuid
from pathlib import Path
from typing import Final

from orchestrator.domain.bundles import BadBundle, SourceFile, is_digest, read_archive

_ARCHIVE: Final = "archive"
_FILES: Final = "files"


class CodeCache:
    """The bundles below `root`. Agents of several hosts on one machine share it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def has(self, digest: str) -> bool:
        """Whether the bundle is here whole; one that was changed is taken away, and is not."""
        kept = self._kept(digest)
        if not kept.is_dir():
            return False
        if not _is_as_packed(kept, digest):
            _remove(kept)
            return False
        os.utime(kept)  # in use again: see remove_leftovers
        return True

    def folder(self, digest: str) -> Path:
        """Where its files are.

        Raises:
            RuntimeError: it is not here.
        """
        if not self.has(digest):
            raise RuntimeError(f"code {digest[:12]} is not on this host")
        return self._kept(digest) / _FILES

    def add(self, digest: str, archive: bytes) -> None:
        """Unpack a bundle, whole or not at all.

        Raises:
            BadBundle: it is none, or another one.
            OSError: it cannot be written.
        """
        if hashlib.sha256(archive).hexdigest() != digest:
            raise BadBundle(f"what came for code {digest[:12]} is something else")
        fresh = self.root / f"new-{uuid.uuid4().hex}"
        fresh.mkdir(mode=0o700, parents=True)
        try:
            _unpack(archive, fresh / _FILES)
            (fresh / _ARCHIVE).write_bytes(archive)
            with contextlib.suppress(OSError):  # the agent of another host on this machine was faster
                fresh.rename(self._kept(digest))
        finally:
            _remove(fresh)

    def _kept(self, digest: str) -> Path:
        if not is_digest(digest):
            raise BadBundle(f"{digest[:80]!r} is not the digest of a bundle")
        return self.root / digest


def _unpack(archive: bytes, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    for file, content in read_archive(io.BytesIO(archive)):
        path = folder / file.path
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with path.open("xb") as out:
            out.writelines(content)
        path.chmod(_mode(file))
    for inner in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        inner.chmod(0o555)


def _is_as_packed(kept: Path, digest: str) -> bool:
    try:
        archive = (kept / _ARCHIVE).read_bytes()
        if hashlib.sha256(archive).hexdigest() != digest:
            return False
        expected = set()
        for file, content in read_archive(io.BytesIO(archive)):
            path = kept / _FILES / file.path
            expected.add(path)
            if path.is_symlink() or path.stat().st_mode & 0o777 != _mode(file):
                return False
            if path.read_bytes() != b"".join(content):
                return False
        there = {path for path in (kept / _FILES).rglob("*") if path.is_symlink() or not path.is_dir()}
    except OSError:
        return False
    return there == expected


def _mode(file: SourceFile) -> int:
    return 0o555 if file.executable else 0o444


def _remove(folder: Path) -> None:
    """Also folders that nobody may write to. Programs that run in it keep what they have open."""
    if not folder.exists():
        return
    for inner in (folder, *(path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink())):
        with contextlib.suppress(OSError):
            inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
