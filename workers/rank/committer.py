"""The committer: a thread on rank 0 that turns a finished save into a committed step, while the loop goes on."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from workers.rank import failpoints, latest, manifest
from workers.rank.failure import PerhapsCommitted, StorageUnavailable, Superseded, end_failed, is_echo
from workers.rank.manifest import Commit
from workers.rank.progress import Reporter
from workers.storage import Storage

# A save that takes longer never ends: 1 TB over 64 hosts takes a minute or two.
SAVE_DEADLINE_S = 900.0
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

    `wait_for_save` blocks until Orbax has finished what it is saving, and raises what went wrong there. A failure, or a
    save that is not committed `deadline_s` after it began, ends the process from this thread: the loop may be blocked
    in a collective with ranks that are gone, or in a save behind the one that hangs.
    """

    def __init__(
        self,
        root: Storage,
        attempt: int,
        attempt_id: str,
        reporter: Reporter,
        wait_for_save: Callable[[], None],
        deadline_s: float = SAVE_DEADLINE_S,
    ) -> None:
        self._root, self._attempt, self._attempt_id = root, attempt, attempt_id
        self._reporter, self._wait_for_save, self._deadline_s = reporter, wait_for_save, deadline_s
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
                left_s = save.started + self._deadline_s - time.monotonic()
                overdue = threading.Timer(max(0.0, left_s), self._end_overdue, (save,))
                overdue.daemon = True
                overdue.start()
                self._commit(save)
                overdue.cancel()
        except OSError as error:
            end_failed(StorageUnavailable(str(error)), self._reporter)
        except BaseException as error:  # noqa: BLE001  # a dead committer would look like a run that never saves
            end_failed(error, self._reporter)

    def _end_overdue(self, save: Save) -> None:
        message = f"the save of step {save.step:,} was not committed within {self._deadline_s:g} s"
        end_failed(StorageUnavailable(f"{self._root.address}: {message}"), self._reporter)

    def _commit(self, save: Save) -> None:
        commit = Commit(self._attempt, save.step)
        self._wait_for_data(commit)
        failpoints.reach("data.final")
        latest.check_owner(self._root, self._attempt, self._attempt_id)
        failpoints.reach("manifest.before")
        size = manifest.write(self._root, commit)
        failpoints.reach("manifest.after")
        try:
            latest.advance(self._root, self._attempt, self._attempt_id, save.step, commit.path)
        except PerhapsCommitted:
            raise
        except Superseded:
            manifest.withdraw(self._root, commit)  # a complete manifest would make it a commit
            raise
        failpoints.reach("latest.after")
        self._reporter.committed(
            step=save.step,
            step_at_ms=save.step_at_ms,
            path=commit.path,
            size_bytes=size,
            save_ms=round((time.monotonic() - save.started) * 1000),
            blocked_ms=save.blocked_ms,
        )
        failpoints.reach("report.after")

    def _wait_for_data(self, commit: Commit) -> None:
        marker = f"{commit.path}/{COMMIT_MARKER}"
        if not self._root.exists(marker):
            try:
                self._wait_for_save()
            except Exception as error:
                if is_echo(error):
                    raise
                message = f"the save of step {commit.step:,} failed: {type(error).__name__}: {error}"
                raise StorageUnavailable(f"{self._root.address}: {message}") from error
        if not self._root.exists(marker):
            raise StorageUnavailable(f"the save of step {commit.step:,} ended without a committed folder")
        self._root.settle(str(commit.attempt))
