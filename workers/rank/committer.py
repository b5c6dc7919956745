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
from workers.storage import Storage, StorageError

# A save that takes longer has failed: 1 TB over 64 hosts takes a minute or two.
SAVE_DEADLINE_S = 900.0
# Orbax gives up at the deadline itself. What hangs on after this as well can only be got rid of with its process.
STUCK_S = 30.0
# Orbax writes it last, on every kind of storage; on a local path the rename of the whole folder follows.
COMMIT_MARKER = "commit_success.txt"


class NotSaved(Exception):  # named for what happened
    """A save did not become a commit, and the next one may: the storage is in trouble, or was too slow."""


@dataclass(frozen=True, slots=True)
class Save:
    """A save that Orbax has taken over. `started` is a `time.monotonic()` reading."""

    step: int
    step_at_ms: int
    started: float
    blocked_ms: int


class Committer:
    """Commits saves in the order of `take`. Only rank 0 has one.

    `wait_for_save` blocks until Orbax has finished the save of a step, and returns what went wrong there. A save that
    the storage refuses is told, and training goes on. Any other failure, or a save that still hangs `STUCK_S` after its
    deadline, ends the process from this thread: the loop may be blocked in a collective with ranks that are gone, or in
    a save behind the one that hangs.
    """

    def __init__(
        self,
        root: Storage,
        attempt: int,
        attempt_id: str,
        reporter: Reporter,
        wait_for_save: Callable[[int], Exception | None],
        deadline_s: float = SAVE_DEADLINE_S,
    ) -> None:
        self._root, self._attempt, self._attempt_id = root, attempt, attempt_id
        self._reporter, self._wait_for_save, self._deadline_s = reporter, wait_for_save, deadline_s
        self._saves: queue.Queue[Save | None] = queue.Queue()
        self._taken = self._done = 0
        self.last_failure: str | None = None
        """Why the newest save that is done with did not become a commit; None when it did."""
        self.longest_s: float | None = None
        """The longest time that a save took from its beginning to its commit; None before there was one."""
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)
        self._thread.start()

    def take(self, save: Save) -> None:
        """Commit `save` once it is finished."""
        self._taken += 1
        self._saves.put(save)

    @property
    def pending(self) -> bool:
        """Whether a save is still being written or committed."""
        return self._taken > self._done

    def close(self) -> None:
        """Wait until everything taken is committed, or has failed."""
        self._saves.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while (save := self._saves.get()) is not None:
                left_s = save.started + self._deadline_s + STUCK_S - time.monotonic()
                overdue = threading.Timer(max(0.0, left_s), self._end_overdue, (save,))
                overdue.daemon = True
                overdue.start()
                self._commit_or_tell(save)
                overdue.cancel()
                self._done += 1
        except BaseException as error:  # noqa: BLE001  # a dead committer would look like a run that never saves
            end_failed(error, self._reporter)

    def _commit_or_tell(self, save: Save) -> None:
        try:
            self._commit(save)
        except (NotSaved, StorageError) as error:
            # The manifest stays, if it came so far: the write of LATEST may have arrived without an answer.
            self.last_failure = str(error)
            self._reporter.save_failed(save.step, str(error), _ms_since(save.started), save.blocked_ms)
        else:
            self.last_failure = None
            took_s = time.monotonic() - save.started
            self.longest_s = max(took_s, self.longest_s or 0.0)

    def _end_overdue(self, save: Save) -> None:
        message = f"the save of step {save.step:,} was not committed within {self._deadline_s:g} s, and hangs"
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
            save_ms=_ms_since(save.started),
            blocked_ms=save.blocked_ms,
        )
        failpoints.reach("report.after")

    def _wait_for_data(self, commit: Commit) -> None:
        marker = f"{commit.path}/{COMMIT_MARKER}"
        fault = None if self._root.exists(marker) else self._wait_for_save(commit.step)
        if fault is not None and is_echo(fault):
            raise fault
        if not self._root.exists(marker):
            why = f": {type(fault).__name__}: {fault}" if fault else ", and left no committed folder"
            raise NotSaved(f"{self._root.address}: the save of step {commit.step:,} failed{why}") from fault
        self._root.settle(str(commit.attempt))


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
