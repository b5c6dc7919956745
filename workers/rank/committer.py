"""The committer: a thread on rank 0 that turns a finished save into a committed step, while the loop goes on."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workers.rank import latest, manifest
from workers.rank.failure import StorageUnavailable, Superseded, end_failed
from workers.rank.manifest import Commit
from workers.rank.progress import Reporter

KEEP_LAST = 2
# Orbax writes it last, on every kind of storage; on a local path the rename of the whole folder follows.
COMMIT_MARKER = "commit_success.txt"


@dataclass(frozen=True, slots=True)
class Save:
    """A save that Orbax has taken over. `started` is a `time.monotonic()` reading."""

    step: int
    step_at_ms: int
    started: float
    blocked_ms: int


class Committer:
    """Commits saves in the order of `take`. Only rank 0 has one.

    `wait_for_save` blocks until Orbax has finished what it is saving, and raises what went wrong there. A failure ends
    the process from this thread: the loop may be blocked in a collective with ranks that are gone.
    """

    def __init__(
        self, root: Path, attempt: int, attempt_id: str, reporter: Reporter, wait_for_save: Callable[[], None]
    ) -> None:
        self._root, self._attempt, self._attempt_id = root, attempt, attempt_id
        self._reporter, self._wait_for_save = reporter, wait_for_save
        self._saves: queue.Queue[Save | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)
        self._thread.start()

    def take(self, save: Save) -> None:
        """Commit `save` once it is finished."""
        self._saves.put(save)

    def close(self) -> None:
        """Wait until everything taken is committed."""
        self._saves.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while (save := self._saves.get()) is not None:
                self._commit(save)
        except OSError as error:
            end_failed(StorageUnavailable(f"{self._root}: {error}"), self._reporter)
        except BaseException as error:  # noqa: BLE001  # a dead committer would look like a run that never saves
            end_failed(error, self._reporter)

    def _commit(self, save: Save) -> None:
        commit = Commit(self._attempt, save.step)
        self._wait_for_data(commit)
        latest.check_owner(self._root, self._attempt, self._attempt_id)
        size = manifest.write(self._root, commit)
        try:
            latest.advance(self._root, self._attempt, self._attempt_id, save.step, commit.path)
        except Superseded:
            manifest.discard(self._root, commit)  # a complete manifest would make it a commit
            raise
        self._reporter.committed(
            step=save.step,
            step_at_ms=save.step_at_ms,
            path=commit.path,
            size_bytes=size,
            save_ms=round((time.monotonic() - save.started) * 1000),
            blocked_ms=save.blocked_ms,
        )
        self._retire()

    def _wait_for_data(self, commit: Commit) -> None:
        marker = self._root / commit.path / COMMIT_MARKER
        if not marker.is_file():
            self._wait_for_save()
        if not marker.is_file():
            raise StorageUnavailable(f"the save of step {commit.step:,} ended without a committed folder")
        latest.sync_folder(marker.parent.parent)

    def _retire(self) -> None:
        for commit in manifest.commits(self._root, self._attempt)[KEEP_LAST:]:
            manifest.discard(self._root, commit)
