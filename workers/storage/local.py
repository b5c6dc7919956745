"""A folder of this machine. One writer at a time by flock, each change by a durable, atomic rename."""

from __future__ import annotations

import fcntl
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import google_crc32c

from workers.storage.interface import Change, Folder, Proof, Seen, StorageError, Stored

_READ_BYTES = 1 << 20
_LARGE_BYTES = 1 << 20
_BLOCK_BYTES = 8 << 20


class LocalFolder:
    """See `Storage`. Made when something is first written to it."""

    def __init__(self, address: str) -> None:
        self._root = Path(address).absolute()
        self.address = str(self._root)

    def read(self, path: str) -> bytes | None:
        with _telling(self._root / path):
            try:
                return (self._root / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write(self, path: str, content: bytes) -> None:
        with _telling(self._root / path):
            _write_durably(self._root / path, (content,))

    def blocks(self, path: str) -> Iterator[bytes]:
        with _telling(self._root / path), (self._root / path).open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                yield block

    def write_blocks(self, path: str, size: int, blocks: Callable[[], Iterator[bytes]]) -> None:
        with _telling(self._root / path):
            written = _write_durably(self._root / path, blocks())
        if written != size:
            self.delete(path)
            raise StorageError(f"{self._root / path}: {written:,} bytes came instead of {size:,}")

    def update(self, path: str, change: Change) -> None:
        with self._locked(path):
            content = change(Seen(self.read(path)))
            if content is not None:
                self.write(path, content)

    def folder(self, path: str) -> Folder:
        with _telling(self._root / path):
            try:
                entries = sorted((entry.name, entry.is_dir()) for entry in os.scandir(self._root / path))
            except (FileNotFoundError, NotADirectoryError):
                return Folder((), ())
        return Folder(
            tuple(name for name, is_folder in entries if is_folder),
            tuple(name for name, is_folder in entries if not is_folder and not name.startswith(".")),
        )

    def tree(self, path: str) -> tuple[Stored, ...]:
        folder = self._root / path
        with _telling(folder):
            files = sorted(file for file in folder.rglob("*") if file.is_file())
            stats = [file.stat() for file in files]
        return tuple(
            Stored(file.relative_to(self._root).as_posix(), stat.st_size, updated_ms=stat.st_mtime_ns // 1_000_000)
            for file, stat in zip(files, stats, strict=True)
        )

    def exists(self, path: str) -> bool:
        return (self._root / path).is_file()

    def proof(self, stored: Stored, like: Proof | None = None) -> Proof:
        """CRC-32C of large files, in a fraction of the time of the CRC-32 that small ones have: OCDBT's small files end
        with their own CRC-32C, so theirs is always the same."""
        large = stored.size >= _LARGE_BYTES if like is None else "crc32c" in like
        extend: Callable[[int, bytes], int] = google_crc32c.extend if large else _extend_crc32
        checksum = 0
        with _telling(self._root / stored.path), (self._root / stored.path).open("rb") as file:
            while block := file.read(_READ_BYTES):
                checksum = extend(checksum, block)
        return {"crc32c" if large else "crc32": checksum}

    def proof_of_bytes(self, stored: Stored, like: Proof) -> Proof:
        return self.proof(stored, like)

    def delete(self, path: str) -> None:
        with _telling(self._root / path):
            (self._root / path).unlink(missing_ok=True)

    def delete_tree(self, path: str) -> None:
        with _telling(self._root / path):
            try:
                shutil.rmtree(self._root / path)
            except FileNotFoundError:
                # Somebody else may be deleting it too; what is left of it is the next caller's.
                shutil.rmtree(self._root / path, ignore_errors=True)

    def settle(self, path: str) -> None:
        with _telling(self._root / path):
            _sync_folder(self._root / path)

    @contextmanager
    def _locked(self, path: str) -> Iterator[None]:
        target = self._root / path
        with _telling(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            lock = target.with_name(f".{target.name}.lock")
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # the kernel drops the lock with it, also when the process is killed


def _extend_crc32(checksum: int, block: bytes) -> int:
    return zlib.crc32(block, checksum)


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error


def _write_durably(path: Path, blocks: Iterable[bytes]) -> int:
    """Replace `path` in one moment, and return its size, only when a power cut cannot undo it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("wb") as file:
        size = sum(file.write(block) for block in blocks)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _sync_folder(path.parent)
    return size


def _sync_folder(folder: Path) -> None:
    """Make renames and new names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
