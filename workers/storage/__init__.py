"""Where checkpoints lie: a local folder or a bucket, behind one small interface.

Used by the rank that writes them and by the cluster process that lists, checks and deletes them. Everything that fails
raises StorageError, which is an OSError, with a sentence for the job's owner. Standard library only at import: the
bucket's client takes a second to load.
"""

from __future__ import annotations

from workers.storage.interface import Change, Folder, Proof, Seen, Storage, StorageError, Stored, TroubleListener
from workers.storage.patience import PATIENCE_S, Patience

__all__ = [
    "Change", "Folder", "Proof", "Seen", "Storage", "StorageError", "Stored", "TroubleListener", "is_bucket",
    "open_storage",
]  # fmt: skip


def is_bucket(address: str) -> bool:
    """Whether `address` is in a bucket and not a folder of this machine."""
    return address.startswith("gs://")


def open_storage(address: str, on_trouble: TroubleListener | None = None, patience_s: float = PATIENCE_S) -> Storage:
    """The storage at `gs://bucket/folder` or a local folder. Contacts nobody yet.

    `on_trouble` hears, in words, about each failure of a bucket that is tried again, for `patience_s` at most. Raises
    ValueError for an address of another kind.
    """
    if is_bucket(address):
        from workers.storage.google import Bucket

        return Bucket(address, on_trouble, lambda: Patience(limit_s=patience_s))
    if "://" in address:
        raise ValueError(f"{address!r} is neither a local folder nor gs://…")
    from workers.storage.local import LocalFolder

    return LocalFolder(address)
