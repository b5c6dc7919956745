"""A folder in a bucket of Google Cloud Storage. What changes is fenced by generation, and every call is tried again for
as long as its patience lasts: the client's own retries would hide their number and end after two minutes each."""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from workers.storage.interface import Change, Folder, Proof, Seen, StorageError, Stored, TroubleListener
from workers.storage.patience import Patience

# Connecting and each read of an answer. A hanging endpoint is found by these, and then tried again.
TIMEOUT_S = (10.0, 30.0)
_TRANSIENT_STATUS = frozenset({408, 429, 500, 502, 503, 504})
_LOST_RACE = 412
_MISSING = 404
_BLOCK_BYTES = 8 << 20

T = TypeVar("T")


class Bucket:
    """See `Storage`. The client is made with the identity of this process when it is first needed."""

    def __init__(
        self,
        address: str,
        on_trouble: TroubleListener | None = None,
        patience: Callable[[], Patience] = Patience,
        timeout_s: tuple[float, float] = TIMEOUT_S,
    ) -> None:
        self.address = address.rstrip("/")
        self._bucket_name, _, folder = self.address.removeprefix("gs://").partition("/")
        if not self._bucket_name:
            raise ValueError(f"{address!r} names no bucket")
        self._prefix = f"{folder}/" if folder else ""
        self._on_trouble = on_trouble or (lambda _: None)
        self._patience, self._timeout_s = patience, timeout_s

    def read(self, path: str) -> bytes | None:
        return self._tried(f"read {path}", lambda: self._fetch(path)[0])

    def write(self, path: str, content: bytes) -> None:
        self._tried(f"write {path}", lambda: self._send(path, content, None))

    def blocks(self, path: str) -> Iterator[bytes]:
        blob = self._tried(f"read {path}", lambda: self._blob(path))
        if blob is None:
            raise StorageError(f"{self.address}: there is no {path}")
        part = functools.partial(
            blob.download_as_bytes, if_generation_match=blob.generation, raw_download=True, checksum=None, **self._once
        )
        for begin in range(0, int(blob.size), _BLOCK_BYTES):
            end = min(begin + _BLOCK_BYTES, int(blob.size)) - 1
            yield self._tried(f"read {path}", functools.partial(part, start=begin, end=end))

    def write_blocks(self, path: str, size: int, blocks: Callable[[], Iterator[bytes]]) -> None:
        def ask() -> None:
            blob = self._client.bucket(self._bucket_name).blob(self._name(path), chunk_size=_BLOCK_BYTES)
            blob.upload_from_file(_Fed(blocks()), size=size, checksum="crc32c", **self._once)

        self._tried(f"write {path}", ask)

    def update(self, path: str, change: Change) -> None:
        sent: bytes | None = None
        uncertain = False
        patience = self._patience()
        while True:
            content, generation = self._tried(f"read {path}", lambda: self._fetch(path), patience)
            if sent is not None and content == sent:
                return
            new = change(Seen(content, uncertain))
            if new is None:
                return
            sent = new
            try:
                self._send(path, sent, generation)
                return
            except Exception as error:  # noqa: BLE001  # the clients have many; what is not transient is raised below
                if _status(error) != _LOST_RACE:
                    # It may have arrived all the same. What is there tells, unless somebody came after us.
                    uncertain = True
                    self._give_up_or_pause(f"write {path}", error, patience)

    def folder(self, path: str) -> Folder:
        prefix = self._name(f"{path}/" if path else "")

        def ask() -> Folder:
            pages = self._client.list_blobs(
                self._bucket_name, prefix=prefix, delimiter="/", retry=None, timeout=self._timeout_s
            )
            files = sorted(blob.name.removeprefix(prefix) for blob in pages)
            folders = sorted(name.removeprefix(prefix).rstrip("/") for name in pages.prefixes)
            return Folder(tuple(folders), tuple(name for name in files if name))

        return self._tried(f"list {path or 'the folder'}", ask)

    def tree(self, path: str) -> tuple[Stored, ...]:
        def ask() -> tuple[Stored, ...]:
            prefix = self._name(f"{path}/" if path else "")
            pages = self._client.list_blobs(self._bucket_name, prefix=prefix, retry=None, timeout=self._timeout_s)
            return tuple(self._stored(blob) for blob in pages if not blob.name.endswith("/"))

        return self._tried(f"list {path}", ask)

    def exists(self, path: str) -> bool:
        return self._tried(f"look for {path}", lambda: self._blob(path) is not None)

    def proof(self, stored: Stored, like: Proof | None = None) -> Proof:  # noqa: ARG002  # it has but one kind
        """The generation: a bucket gives each content of an object a new one. The CRC-32C is for reading it all."""
        if stored.generation is None or stored.crc32c is None:
            raise StorageError(f"{self.address}/{stored.path} was listed without generation or checksum")
        return {"generation": stored.generation, "crc32c": stored.crc32c}

    def proof_of_bytes(self, stored: Stored, like: Proof) -> Proof:  # noqa: ARG002  # as above
        import google_crc32c

        def ask() -> Proof:
            blob = self._client.bucket(self._bucket_name).blob(self._name(stored.path))
            checksum = google_crc32c.Checksum()
            blob.download_to_file(_Feeding(checksum), raw_download=True, **self._once)
            found = {"crc32c": int.from_bytes(checksum.digest(), "big")}
            return found | ({"generation": stored.generation} if stored.generation is not None else {})

        return self._tried(f"read {stored.path}", ask)

    def delete(self, path: str) -> None:
        def ask() -> None:
            try:
                self._client.bucket(self._bucket_name).delete_blob(
                    self._name(path), retry=None, timeout=self._timeout_s
                )
            except Exception as error:
                if _status(error) != _MISSING:
                    raise

        self._tried(f"delete {path}", ask)

    def delete_tree(self, path: str) -> None:
        for stored in self.tree(path):
            self.delete(stored.path)

    def settle(self, path: str) -> None:
        """A bucket's writes are durable when they are answered."""

    # ------------------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _client(self) -> Any:
        from google.auth.exceptions import GoogleAuthError
        from google.cloud import storage

        try:
            # No project: it is needed to make buckets, not to use them.
            return storage.Client(project="none")
        except (GoogleAuthError, OSError) as error:
            raise StorageError(f"{self.address}: no credentials: {_first_line(error)}") from error

    @functools.cached_property
    def _once(self) -> dict[str, Any]:
        return {"retry": None, "timeout": self._timeout_s}

    def _name(self, path: str) -> str:
        return self._prefix + path

    def _blob(self, path: str) -> Any:
        return self._client.bucket(self._bucket_name).get_blob(self._name(path), **self._once)

    def _fetch(self, path: str) -> tuple[bytes | None, int]:
        """Content and generation; generation 0 is what a write that must find nothing expects."""
        while (blob := self._blob(path)) is not None:
            try:
                content: bytes = blob.download_as_bytes(if_generation_match=blob.generation, **self._once)
                return content, int(blob.generation)
            except Exception as error:
                if _status(error) not in (_MISSING, _LOST_RACE):
                    raise  # else it was replaced in between: look again
        return None, 0

    def _send(self, path: str, content: bytes, generation: int | None) -> None:
        blob = self._client.bucket(self._bucket_name).blob(self._name(path))
        blob.upload_from_string(
            content, content_type="application/json", if_generation_match=generation, checksum="crc32c", **self._once
        )

    def _stored(self, blob: Any) -> Stored:
        return Stored(
            path=blob.name.removeprefix(self._prefix),
            size=int(blob.size),
            generation=int(blob.generation),
            crc32c=int.from_bytes(base64.b64decode(blob.crc32c), "big"),
            updated_ms=round(blob.updated.timestamp() * 1000) if blob.updated else None,
        )

    def _tried(self, what: str, ask: Callable[[], T], patience: Patience | None = None) -> T:
        patience = patience or self._patience()
        while True:
            try:
                return ask()
            except Exception as error:  # noqa: BLE001  # as above
                self._give_up_or_pause(what, error, patience)

    def _give_up_or_pause(self, what: str, error: Exception, patience: Patience) -> None:
        """Return when it is time for another try; raises StorageError when no other try would help, or time is up."""
        if isinstance(error, StorageError):
            raise error
        if not _is_transient(error):
            raise StorageError(f"{self.address}: cannot {what}: {_why(error, self._bucket_name)}") from error
        self._on_trouble(f"cannot {what}: {_why(error, self._bucket_name)}; trying again")
        if not patience.pause():
            tries = f"{patience.tries} tries in {patience.limit_s:g} s"
            raise StorageError(f"{self.address}: cannot {what}: {_why(error, self._bucket_name)} ({tries})") from error


class _Fed:
    """A file that is read once, from its beginning to its end, as its blocks come."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._held, self._at = blocks, bytearray(), 0

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._held) < size:
            block = next(self._blocks, None)
            if block is None:
                break
            self._held += block
        taken = bytes(self._held if size < 0 else self._held[:size])
        del self._held[: len(taken)]
        self._at += len(taken)
        return taken

    def tell(self) -> int:
        return self._at


class _Feeding:
    """A file that only feeds a checksum."""

    def __init__(self, checksum: Any) -> None:
        self._checksum = checksum

    def write(self, data: bytes) -> int:
        self._checksum.update(data)
        return len(data)


def _status(error: Exception) -> int | None:
    code = getattr(error, "code", None)
    return int(code) if isinstance(code, int) else None


def _is_transient(error: Exception) -> bool:
    """Whether another try may succeed: the endpoint was busy, unreachable, silent, or broke off."""
    import requests
    from google.auth.exceptions import TransportError
    from google.cloud.storage.exceptions import DataCorruption, InvalidResponse

    if isinstance(error, InvalidResponse):
        return error.response.status_code in _TRANSIENT_STATUS
    broken = (requests.RequestException, ConnectionError, TimeoutError, TransportError, DataCorruption)
    return _status(error) in _TRANSIENT_STATUS or isinstance(error, broken)


def _why(error: Exception, bucket: str) -> str:
    from google.auth.exceptions import GoogleAuthError

    match _status(error):
        case 401:
            return "the credentials are not accepted (401)"
        case 403:
            return f"this identity may not do that in {bucket} (403)"
        case 404:
            return f"there is no bucket {bucket} (404)"
        case int(code):
            return f"the storage answered {code}"
    if isinstance(error, GoogleAuthError):
        return f"no usable credentials: {_first_line(error)}"
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]
