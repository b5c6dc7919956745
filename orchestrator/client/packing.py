"""A folder of source as a bundle, with what git says of it. Git itself decides what `.gitignore` leaves out."""

import hashlib
import io
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.domain.bundles import (
    MAX_ARCHIVE_BYTES,
    MAX_FILES,
    MAX_UNPACKED_BYTES,
    MIB,
    BadBundle,
    SourceFile,
    write_archive,
)

_LONGEST_DIFF: Final = 256 * 1024
_CUT: Final = "\n… the rest of the difference is left out"


@dataclass(frozen=True, slots=True)
class Origin:
    """The commit that a folder is at, and how it differs from it."""

    commit: str | None
    dirty: bool
    diff: str | None


@dataclass(frozen=True, slots=True)
class Packed:
    """A folder as it was when it was packed. `origin` is None of one that is in no repository."""

    archive: bytes
    digest: str
    files: int
    origin: Origin | None


def pack(folder: Path) -> Packed:
    """The folder as a bundle: the same files give the same digest, wherever they lie and whoever packs them.

    Raises:
        BadBundle: it is no folder, or holds what no bundle may.
    """
    if not folder.is_dir():
        raise BadBundle(f"{folder} is not a folder")
    origin = _origin(folder)
    names = sorted(_names(folder, in_repository=origin is not None))
    if len(names) > MAX_FILES:
        raise BadBundle(f"{folder}: more than {MAX_FILES} files; leave out data with .gitignore")
    out = io.BytesIO()
    try:
        write_archive(_read(folder, names), out)
    except OSError as error:
        raise BadBundle(f"cannot read {error.filename}: {error.strerror}") from None
    archive = out.getvalue()
    if len(archive) > MAX_ARCHIVE_BYTES:
        said = f"{len(archive) / MIB:.1f} MiB packed, of {MAX_ARCHIVE_BYTES // MIB} allowed"
        raise BadBundle(f"{folder}: {said}; leave out data with .gitignore")
    return Packed(archive, hashlib.sha256(archive).hexdigest(), len(names), origin)


def _read(folder: Path, names: list[str]) -> Iterator[tuple[SourceFile, bytes]]:
    root, left = folder.resolve(), MAX_UNPACKED_BYTES
    for name in names:
        path = folder / name
        if path.is_symlink() and not _leads_inside(path, root):
            raise BadBundle(f"{name} is a link that leads out of the folder, or nowhere")
        size = path.stat().st_size
        left -= size
        if left < 0:
            raise BadBundle(
                f"more than {MAX_UNPACKED_BYTES // MIB} MiB of files, at {name}; leave out data with .gitignore"
            )
        content = path.read_bytes()
        yield SourceFile(name, os.access(path, os.X_OK), len(content)), content


def _leads_inside(link: Path, root: Path) -> bool:
    """Whether the link may be packed as the file that it leads to."""
    found = link.resolve()
    return found.is_file() and found.is_relative_to(root)


def _names(folder: Path, in_repository: bool) -> Iterator[str]:
    """The paths of the files that belong to the folder, with `/`."""
    for name in _listed(folder, in_repository):
        path = folder / name
        if path.is_dir() and not path.is_symlink():  # a repository within this one
            inner = name.rstrip("/")
            yield from (f"{inner}/{below}" for below in _names(path, in_repository=True))
        elif path.is_symlink() or path.is_file():  # not what was removed and is still in git's index
            yield name


def _listed(folder: Path, in_repository: bool) -> Iterator[str]:
    if in_repository:
        yield from _lines(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
        return
    if any(folder.rglob(".gitignore")):
        with tempfile.TemporaryDirectory() as nothing:
            _git(Path(nothing), "init", "--quiet", "--bare", ".", must=True)
            listing = ("ls-files", "-z", "--others", "--exclude-standard")
            yield from _lines(folder, f"--git-dir={nothing}", f"--work-tree={folder.resolve()}", *listing)
        return
    for path in folder.rglob("*"):
        if path.is_symlink() or path.is_file():
            yield path.relative_to(folder).as_posix()


def _lines(folder: Path, *arguments: str) -> list[str]:
    found = _git(folder, *arguments, must=True) or b""
    return [os.fsdecode(name) for name in found.split(b"\0") if name]


def _origin(folder: Path) -> Origin | None:
    """None of a folder that is in no repository, or where there is no git."""
    if (_git(folder, "rev-parse", "--is-inside-work-tree") or b"").strip() != b"true":
        return None
    head = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    dirty = bool(_git(folder, "status", "--porcelain", "--", "."))
    if head is None:
        return Origin(None, dirty, None)
    diff = _git(folder, "diff", "HEAD", "--no-ext-diff", "--no-textconv", "--", ".") or b""
    text = diff[:_LONGEST_DIFF].decode("utf-8", errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return Origin(head.decode().strip(), dirty, text + (_CUT if len(diff) > _LONGEST_DIFF else "") or None)


def _git(folder: Path, *arguments: str, must: bool = False) -> bytes | None:
    """What git prints; None if it refuses.

    Raises:
        BadBundle: there is no git, or it refuses, and it `must`.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        if must:
            raise BadBundle(f"{folder} has a .gitignore, and there is no git here to heed it") from None
        return None
    if done.returncode:
        if must:
            raise BadBundle(f"git in {folder}: {done.stderr.decode(errors='replace').strip()[:300]}")
        return None
    return done.stdout
