"""What a storage can do, the same for a folder and a bucket. Paths are relative to it, with `/`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

Proof = dict[str, int]
"""What recognises one object's content, beside its size; which numbers depends on the kind of storage."""

TroubleListener = Callable[[str], None]


class StorageError(OSError):
    """The storage refused, failed, or did not answer in time."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Stored:
    """One object as a listing shows it. `generation` and `crc32c` are a bucket's."""

    path: str
    size: int
    generation: int | None = None
    crc32c: int | None = None
    updated_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies directly in a folder: names of folders and objects, each sorted."""

    folders: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """An object on the point of being changed; `content` is None when there is none.

    `uncertain`: a change that was sent before got no answer and is not what is there now. It may have been there, and
    replaced by somebody else.
    """

    content: bytes | None
    uncertain: bool = False


Change = Callable[[Seen], bytes | None]
"""Makes the new content of an object; None leaves it as it is."""


class Storage(Protocol):
    """A folder in some kind of storage. All methods raise StorageError; reading what is not there does not."""

    address: str
    """As people and Orbax name it, without a `/` at its end."""

    def read(self, path: str) -> bytes | None:
        """The object's content, None when there is none."""

    def write(self, path: str, content: bytes) -> None:
        """Make or replace an object, whole or not at all, and durably."""

    def blocks(self, path: str) -> Iterator[bytes]:
        """The object's content in pieces of some MiB; raises StorageError when there is none."""

    def write_blocks(self, path: str, size: int, blocks: Callable[[], Iterator[bytes]]) -> None:
        """As `write`, of `size` bytes that nobody holds as a whole; `blocks` is called anew for each try."""

    def update(self, path: str, change: Change) -> None:
        """Replace an object by what `change` makes of it, with nobody in between.

        `change` may be called again with what somebody else wrote meanwhile; what it raises is passed on and leaves the
        object as it is. Each content must be new: it is how a lost reply is recognised as a success.
        """

    def folder(self, path: str) -> Folder:
        """What lies directly in a folder; nothing when there is no such folder. "" is the storage itself."""

    def tree(self, path: str) -> tuple[Stored, ...]:
        """All objects below a folder, by path."""

    def exists(self, path: str) -> bool: ...

    def proof(self, stored: Stored, like: Proof | None = None) -> Proof:
        """What recognises the content of an object that was listed; of the same kind as `like`, if that is given."""

    def proof_of_bytes(self, stored: Stored, like: Proof) -> Proof:
        """As `proof`, but found by reading every byte."""

    def delete(self, path: str) -> None:
        """Delete an object; one that is gone is deleted."""

    def delete_tree(self, path: str) -> None:
        """Delete all that lies below a folder, and the folder."""

    def settle(self, path: str) -> None:
        """Make what somebody else wrote or renamed directly in this folder durable."""
