"""`LATEST`: the fence of a job's checkpoint folder and the name of its newest commit.

An object of JSON at the folder's root. An attempt *claims* the folder by writing its number there, after which every
older attempt is refused: a frozen or cut-off process may come back at any time, and all that it does then is to fail
here. The storage lets nobody come between reading and writing (a generation precondition, or flock and rename). Does
not touch steps.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from workers.rank.failure import NothingRestorable, PerhapsCommitted, StorageUnavailable, Superseded
from workers.storage import Seen, Storage

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


def read(root: Storage) -> Latest | None:
    """What LATEST says, or None when there is none. Raises NothingRestorable when it is not readable as JSON."""
    return _parse(root, root.read(NAME))


def claim(root: Storage, attempt: int, attempt_id: str) -> Latest:
    """Make `attempt` the owner of the folder and return LATEST, which names the newest commit.

    Claiming twice is one claim. Raises Superseded when a higher attempt, or another attempt of this number, owns it.
    """

    def make(old: Latest | None, _uncertain: bool) -> Latest:
        if old is None:
            return Latest(attempt, attempt_id, step=None, path=None, token="")
        if old.attempt > attempt or (old.attempt == attempt and old.attempt_id != attempt_id):
            raise Superseded(_superseded(old, attempt, attempt_id))
        return old if old.attempt == attempt else replace(old, attempt=attempt, attempt_id=attempt_id)

    return _change(root, make)


def advance(root: Storage, attempt: int, attempt_id: str, step: int, path: str) -> Latest:
    """Make `path` the newest commit: from here on this step exists. Repeating it is harmless.

    Raises Superseded when this attempt does not own the folder any more or the newest commit would go back, and
    PerhapsCommitted, a Superseded, when it may have become a commit before that.
    """

    def make(old: Latest | None, uncertain: bool) -> Latest:
        if old is not None and old.path == path:
            return old  # also when the next attempt has claimed the folder since: it goes on from this commit
        try:
            old = _owned(root, old, attempt, attempt_id)
            if old.step is not None and step <= old.step:
                raise Superseded(f"step {step:,} would replace the newer commit {old.path}")
        except Superseded as error:
            if uncertain:
                raise PerhapsCommitted(str(error)) from error
            raise
        return replace(old, step=step, path=path)

    return _change(root, make)


def rewind(root: Storage, attempt: int, attempt_id: str, step: int, path: str) -> Latest:
    """Name an older commit the newest, because the ones after it are damaged.

    Without this the run that goes on from it could commit nothing until it has passed the damaged step again.
    Raises Superseded when this attempt does not own the folder any more.
    """

    def make(old: Latest | None, _uncertain: bool) -> Latest:
        return replace(_owned(root, old, attempt, attempt_id), step=step, path=path)

    return _change(root, make)


def check_owner(root: Storage, attempt: int, attempt_id: str) -> None:
    """Raises Superseded when this attempt does not own the folder any more."""
    _owned(root, read(root), attempt, attempt_id)


def _owned(root: Storage, latest: Latest | None, attempt: int, attempt_id: str) -> Latest:
    if latest is None or latest.attempt < attempt:
        raise StorageUnavailable(f"{root.address}/{NAME} lost attempt {attempt}'s claim")
    if (latest.attempt, latest.attempt_id) != (attempt, attempt_id):
        raise Superseded(_superseded(latest, attempt, attempt_id))
    return latest


def _superseded(owner: Latest, attempt: int, attempt_id: str) -> str:
    return (
        f"attempt {attempt} ({attempt_id}) is superseded: "
        f"the checkpoints belong to attempt {owner.attempt} ({owner.attempt_id})"
    )


def _change(root: Storage, make: Callable[[Latest | None, bool], Latest]) -> Latest:
    """Replace LATEST by what `make` makes of it; what it returns unchanged is not written."""
    made: list[Latest] = []

    def change(seen: Seen) -> bytes | None:
        old = _parse(root, seen.content)
        new = make(old, seen.uncertain)
        if new is not old:
            new = replace(new, token=uuid.uuid4().hex)
        made.append(new)
        return None if new is old else json.dumps(asdict(new)).encode()

    root.update(NAME, change)
    return made[-1]


def _parse(root: Storage, content: bytes | None) -> Latest | None:
    if content is None:
        return None
    try:
        fields = json.loads(content)
        return Latest(**{name: fields[name] for name in Latest.__dataclass_fields__})
    except (ValueError, KeyError, TypeError) as error:
        # Every storage replaces it whole: somebody else wrote this, and guessing could start the job again at 0.
        message = f"{root.address}/{NAME} is damaged ({error!r}), so the newest commit is unknown"
        raise NothingRestorable(message) from error
