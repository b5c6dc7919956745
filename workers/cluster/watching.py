"""Folders in which programs of users commit by themselves: looked at now and then, on a thread of its own.

A foreign program knows nothing of our fence and our manifests; what Orbax calls committed is all that can be said.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterable
from typing import Final

from orchestrator.domain.ids import AttemptId
from orchestrator.protocol import RunOrder, WatchedCommit
from workers.storage import Storage, StorageError, open_storage

LOOK_EVERY_S: Final = 10.0
PATIENCE_S: Final = 20.0
MARKER: Final = "commit_success.txt"
"""Orbax writes it last where no rename makes a step whole at once: in buckets."""
METADATA: Final = "_CHECKPOINT_METADATA"
_STEP: Final = re.compile(r"(?:[A-Za-z_-]*[_-])?(\d{1,18})")
"""As Orbax names steps, with and without a prefix. While a local one is written its name has a suffix."""

log = logging.getLogger(__name__)

Send = Callable[[AttemptId, tuple[WatchedCommit, ...]], bool]


class Watching:
    """The watched folders of the live attempts. One that ends is looked at once more, for its last commit."""

    def __init__(self, send: Send, now_ms: Callable[[], int], every_s: float = LOOK_EVERY_S) -> None:
        self._send, self._now_ms, self._every_s = send, now_ms, every_s
        self._wanted: dict[AttemptId, str] = {}
        self._told: dict[AttemptId, set[str]] = {}
        self._news = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, runs: Iterable[RunOrder]) -> None:
        """Watch the folders of these attempts from now on."""
        wanted = {run.attempt_id: run.checkpoint.watch for run in runs if run.checkpoint.watch is not None}
        if wanted == self._wanted:
            return
        self._wanted = wanted
        self._news.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="watching", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        before: dict[AttemptId, str] = {}
        while True:
            self._news.clear()
            now = dict(self._wanted)
            for attempt_id, folder in (before | now).items():
                self._look(attempt_id, folder)
            for gone in self._told.keys() - now.keys():
                del self._told[gone]
            before = now
            self._news.wait(self._every_s if now else None)

    def _look(self, attempt_id: AttemptId, folder: str) -> None:
        told = self._told.setdefault(attempt_id, set())
        try:
            new = commits(open_storage(folder, patience_s=PATIENCE_S), told, self._now_ms())
        except (StorageError, ValueError) as error:
            log.warning("%s cannot be watched: %s", folder, error)
        except Exception:  # one folder must not end the watch over the others
            log.exception("%s cannot be watched", folder)
        else:
            if new and self._send(attempt_id, new):
                told.update(one.path for one in new)


def commits(folder: Storage, known: Iterable[str], now_ms: int) -> tuple[WatchedCommit, ...]:
    """Steps that lie in the folder, committed, and are not among the known addresses; by step."""
    seen = set(known)
    found = []
    for name in folder.folder("").folders:
        step, address = _STEP.fullmatch(name), f"{folder.address}/{name}"
        if step is None or address in seen:
            continue
        stored = folder.tree(name)
        last = MARKER if folder.address.startswith("gs://") else METADATA
        if any(one.path in (f"{name}/{MARKER}", f"{name}/{last}") for one in stored):
            at_ms = max((one.updated_ms for one in stored if one.updated_ms is not None), default=now_ms)
            found.append(WatchedCommit(int(step[1]), address, sum(one.size for one in stored), at_ms))
    return tuple(sorted(found, key=lambda one: one.step))
