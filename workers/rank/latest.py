"""`LATEST`: the fence of a job's checkpoint folder and the name of its newest commit.

A file of JSON at the folder's root. An attempt *claims* the folder by writing its number there, after which every older
attempt is refused: a frozen or cut-off process may come back at any time, and all that it does then is to fail here.
Local paths only: one writer at a time by flock, each change by an atomic rename. Does not touch steps.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from workers.rank.failure import NothingRestorable, StorageUnavailable, Superseded

NAME = "LATEST"


@dataclass(frozen=True, slots=True)
class Latest:
    """`path` is "<attempt>/<step>" under the root; it and `step` are None until a first step is committed.

    `attempt` is the owner of the folder, not always the one that wrote `path`. `token` is new with every write, so that
    a writer can recognise its own.
    """

    attempt: int
    attempt_id: str
    step: int | None
    path: str | None
    token: str


def read(root: Path) -> Latest | None:
    """What LATEST says, or None when there is none. Raises NothingRestorable when it is not readable as JSON."""
    try:
        fields = json.loads((root / NAME).read_bytes())
        return Latest(**{name: fields[name] for name in Latest.__dataclass_fields__})
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        # Our own renames leave no half file: somebody else wrote this, and guessing could start the job again at 0.
        raise NothingRestorable(f"{root / NAME} is damaged ({error!r}), so the newest commit is unknown") from error


def claim(root: Path, attempt: int, attempt_id: str) -> Latest:
    """Make `attempt` the owner of the folder and return LATEST, which names the newest commit.

    Claiming twice is one claim. Raises Superseded when a higher attempt, or another attempt of this number, owns it.
    """
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root):
        old = read(root)
        if old is None:
            return _write(root, Latest(attempt, attempt_id, step=None, path=None, token=""))
        if old.attempt > attempt or (old.attempt == attempt and old.attempt_id != attempt_id):
            raise Superseded(_superseded(old, attempt, attempt_id))
        if old.attempt == attempt:
            return old
        return _write(root, replace(old, attempt=attempt, attempt_id=attempt_id))


def advance(root: Path, attempt: int, attempt_id: str, step: int, path: str) -> Latest:
    """Make `path` the newest commit: from here on this step exists. Repeating it is harmless.

    Raises Superseded when this attempt does not own the folder any more or the newest commit would go back.
    """
    with _locked(root):
        old = _owned(root, attempt, attempt_id)
        if old.path == path:
            return old
        if old.step is not None and step <= old.step:
            raise Superseded(f"step {step:,} would replace the newer commit {old.path}")
        return _write(root, replace(old, step=step, path=path))


def rewind(root: Path, attempt: int, attempt_id: str, step: int, path: str) -> Latest:
    """Name an older commit the newest, because the ones after it are damaged.

    Without this the run that goes on from it could commit nothing until it has passed the damaged step again.
    Raises Superseded when this attempt does not own the folder any more.
    """
    with _locked(root):
        return _write(root, replace(_owned(root, attempt, attempt_id), step=step, path=path))


def check_owner(root: Path, attempt: int, attempt_id: str) -> None:
    """Raises Superseded when this attempt does not own the folder any more."""
    _owned(root, attempt, attempt_id)


def _owned(root: Path, attempt: int, attempt_id: str) -> Latest:
    latest = read(root)
    if latest is None or latest.attempt < attempt:
        raise StorageUnavailable(f"{root / NAME} lost attempt {attempt}'s claim")
    if (latest.attempt, latest.attempt_id) != (attempt, attempt_id):
        raise Superseded(_superseded(latest, attempt, attempt_id))
    return latest


def _superseded(owner: Latest, attempt: int, attempt_id: str) -> str:
    return (
        f"attempt {attempt} ({attempt_id}) is superseded: "
        f"the checkpoints belong to attempt {owner.attempt} ({owner.attempt_id})"
    )


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    descriptor = os.open(root / f".{NAME}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # the kernel drops the lock with it, also when the process is killed


def _write(root: Path, latest: Latest) -> Latest:
    latest = replace(latest, token=uuid.uuid4().hex)
    write_durably(root / NAME, json.dumps(asdict(latest)).encode())
    return latest


def write_durably(path: Path, content: bytes) -> None:
    """Replace `path` in one moment, and return only when a power cut cannot undo it."""
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and new names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
