"""A code bundle: a folder of source files as one archive, named by the SHA-256 of its bytes.

The format is a gzipped ustar archive of regular files and nothing else, so that reading one, which anybody may have
made, needs no trust: no links, no owners, no long headers, every path checked, every size counted as it comes.
"""

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

MIB: Final = 1 << 20
MAX_ARCHIVE_BYTES: Final = 32 * MIB
MAX_UNPACKED_BYTES: Final = 256 * MIB
MAX_FILES: Final = 10_000
MAX_PATH_BYTES: Final = 240
MAX_DEPTH: Final = 32
OURS: Final = frozenset({"orchestrator", "workers", "jobs"})
"""Our packages. A rank's folder comes first on Python's path: one of these names there would hide ours."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_BLOCK: Final = 512
_PIECE: Final = 1 << 16


class BadBundle(ValueError):
    """It is no bundle, or more than one may hold; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a bundle; `path` is relative, with `/`."""

    path: str
    executable: bool
    size: int


def is_digest(text: str) -> bool:
    """Whether `text` is the name of a bundle: 64 hexadecimal digits, small."""
    return _DIGEST.fullmatch(text) is not None


def checked_path(path: str) -> str:
    """`path`, if a file may have it: relative, within its folder, of ordinary characters.

    Raises:
        BadBundle: it may not.
    """
    parts = path.split("/")
    shown = ascii(path[:80])
    if any(part in ("", ".", "..") for part in parts) or "\\" in path or not path.isprintable():
        raise BadBundle(f"{shown}: a path is relative, without . and .. and \\, and of printable characters")
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        raise BadBundle(f"{shown}: the name is not UTF-8") from None
    if length > MAX_PATH_BYTES or len(parts) > MAX_DEPTH:
        raise BadBundle(f"{shown}…: a path has at most {MAX_PATH_BYTES} bytes and {MAX_DEPTH} levels")
    return path


def write_archive(files: Iterable[tuple[SourceFile, bytes]], out: BinaryIO) -> None:
    """Write a bundle: the same files, in the same order, give the same bytes.

    Raises:
        BadBundle: a path cannot be written, or there is too much.
    """
    rules = _Rules()
    with gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0, compresslevel=6) as packed:
        for file, content in files:
            rules.take(file)
            header = tarfile.TarInfo(file.path)
            header.size, header.mode, header.mtime = len(content), 0o755 if file.executable else 0o644, 0
            try:
                packed.write(header.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict"))
            except ValueError as error:
                raise BadBundle(f"{file.path}: {error}") from None
            packed.write(content + bytes(-len(content) % _BLOCK))
        packed.write(bytes(2 * _BLOCK))
    rules.finish()


def read_archive(archive: BinaryIO) -> Iterator[tuple[SourceFile, Iterator[bytes]]]:
    """Each file with its content in pieces; what of it is not read is passed over.

    Raises:
        BadBundle: as soon as something is found that a bundle must not hold.
    """
    rules = _Rules()
    packed = gzip.GzipFile(fileobj=archive, mode="rb")
    while (block := _exactly(packed, _BLOCK)) != bytes(_BLOCK):
        file = _file(block)
        rules.take(file)
        content = _content(packed, file)
        yield file, content
        for _ in content:
            pass
    rules.finish()


class _Rules:
    """What holds of all files of a bundle together."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._bytes = 0

    def take(self, file: SourceFile) -> None:
        parts = checked_path(file.path).split("/")
        top = parts[0].removesuffix(".py") if len(parts) == 1 else parts[0]
        if top in OURS:
            raise BadBundle(f"{parts[0]} would hide Podwright's own package of that name from the program; rename it")
        above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        if file.path in self._files | self._folders or above & self._files:
            raise BadBundle(f"{file.path} is there twice")
        self._files.add(file.path)
        self._folders |= above
        self._bytes += file.size
        if len(self._files) > MAX_FILES:
            raise BadBundle(f"more than {MAX_FILES} files; leave out data with .gitignore")
        if self._bytes > MAX_UNPACKED_BYTES:
            raise BadBundle(f"more than {MAX_UNPACKED_BYTES // MIB} MiB of files; leave out data with .gitignore")

    def finish(self) -> None:
        if not self._files:
            raise BadBundle("there is no file in it")


def _file(block: bytes) -> SourceFile:
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise BadBundle(f"not a ustar archive: {error}") from None
    if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or header.size < 0:
        raise BadBundle(f"{header.name[:80]!a} is not a regular file")
    return SourceFile(header.name, bool(header.mode & 0o100), header.size)


def _content(packed: gzip.GzipFile, file: SourceFile) -> Iterator[bytes]:
    left = file.size
    while left:
        piece = _exactly(packed, min(left, _PIECE))
        left -= len(piece)
        yield piece
    _exactly(packed, -file.size % _BLOCK)


def _exactly(packed: gzip.GzipFile, size: int) -> bytes:
    try:
        found = packed.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise BadBundle(f"not a gzip file: {error}") from None
    if len(found) < size:
        raise BadBundle("the archive is cut off")
    return found
