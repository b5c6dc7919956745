"""A rank's checkpoints: saved by Orbax in the background, committed by rank 0, restored from the newest intact step.

Layout: `<root>/<attempt>/<step>/` (Orbax's), `<root>/<attempt>/<step>.manifest.json`, `<root>/LATEST`. All methods of
`Checkpoints` are called by all ranks at the same point; only rank 0 touches LATEST and the manifests.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from workers.rank import failpoints, latest, manifest, preemption
from workers.rank.committer import SAVE_DEADLINE_S, Committer, Save
from workers.rank.context import RankContext
from workers.rank.failure import InvalidProgram, NothingRestorable, StorageUnavailable, is_echo
from workers.rank.manifest import Commit
from workers.rank.orbax import Saver
from workers.rank.progress import Reporter
from workers.storage import StorageError, open_storage


@dataclass(frozen=True, slots=True)
class Restored:
    """What a checkpoint holds: the state, on the shardings asked for, and the position in the data (plain JSON)."""

    step: int
    state: Any
    position: dict[str, Any]


class Checkpoints:
    """Saving and restoring for one attempt. Create it after `distributed.initialize`, once per process."""

    def __init__(self, context: RankContext, reporter: Reporter) -> None:
        if context.checkpoint_root is None:
            raise InvalidProgram("PODWRIGHT_CHECKPOINT_ROOT is not set: there is no place to save to")
        self._context, self._reporter = context, reporter
        try:
            self._root = open_storage(context.checkpoint_root, reporter.storage_trouble)
        except ValueError as error:
            raise InvalidProgram(f"PODWRIGHT_CHECKPOINT_ROOT: {error}") from error
        # Claim before Orbax makes a folder: a left-over process must not write at all.
        self._commit, self._source = self._agree_on_commit()
        deadline_s = SAVE_DEADLINE_S if context.save_deadline_ms is None else context.save_deadline_ms / 1000
        self._saver = Saver(f"{self._root.address}/{context.attempt}", deadline_s)
        self._committer: Committer | None = None
        if context.rank == 0:
            mine = context.attempt, context.attempt_id
            self._committer = Committer(self._root, *mine, reporter, self._saver.wait, deadline_s)

    @property
    def restorable_step(self) -> int | None:
        """The step that `restore` will give, or None for a job that never committed one."""
        return self._commit.step if self._commit else None

    def restore(self, target: Any) -> Restored:
        """Read the agreed step. `target` is the state as `jax.ShapeDtypeStruct`s with shardings; any mesh will do.

        Its files are proven intact by then, so what Orbax raises here means that the state has another structure, and
        an older step would not help: it is not caught.
        """
        assert self._commit is not None, "nothing to restore: ask restorable_step first"
        failpoints.reach("restore.before")
        restored = self._saver.restore(f"{self._source}/{self._commit.path}", target)
        failpoints.reach("restore.after")
        return Restored(self._commit.step, restored.state, restored.position)

    def save(self, step: int, state: Any, position: dict[str, Any], step_at_ms: int) -> None:
        """Start saving; returns when the state has been copied from the devices and may be donated.

        `step_at_ms` is when the loop completed `step`. Blocks while the save before is still being written; if that
        failed, on any rank, it failed on all of them, and this one is tried all the same.
        """
        asked = time.monotonic()
        self._finish_saving()
        started = time.monotonic()
        failpoints.reach("save.before")
        try:
            self._saver.save(step, state, position)
        except Exception as error:
            if not _is_storages(error):
                raise
            raise StorageUnavailable(f"{self._root.address}: {type(error).__name__}: {error}") from error
        failpoints.reach("save.taken")
        if self._committer:
            blocked_ms = round((time.monotonic() - asked) * 1000)
            self._committer.take(Save(step, step_at_ms, started, blocked_ms))

    def fits_notice(self, step: int) -> bool:
        """Whether to save at `step` before leaving on a notice; the same answer on all ranks.

        Rank 0 decides by how long its saves took and what its agent says is left, and tells why.
        """
        import numpy as np
        from jax.experimental import multihost_utils

        saves = True
        if self._committer is not None:
            left_s = preemption.time_left_s(self._context.notice)
            saves, why = preemption.judge(left_s, self._committer.longest_s, self._committer.pending)
            self._reporter.notice(step, why)
        return bool(multihost_utils.broadcast_one_to_all(np.array(saves)))

    def close(self) -> None:
        """Return, on every rank, once all saves are committed: a rank that left earlier would call a run complete
        whose last step may still be refused. Raises StorageUnavailable when the last one failed."""
        from jax.experimental import multihost_utils

        self._finish_saving()
        self._saver.close()
        if self._committer:
            self._committer.close()
            if self._committer.last_failure is not None:
                raise StorageUnavailable(self._committer.last_failure)
        multihost_utils.sync_global_devices("podwright: all saves are committed")

    def _finish_saving(self) -> None:
        """Wait for the save that is being written. Why it failed is the committer's to tell."""
        fault = self._saver.wait()
        if fault is not None and is_echo(fault):
            raise fault

    def _agree_on_commit(self) -> tuple[Commit | None, str]:
        """Rank 0 claims the folder and chooses the step; the others hear of it, and of nothing but it.

        Returns it with the address of the folder that holds it: another job's, if this job continues that one.
        """
        import numpy as np
        from jax.experimental import multihost_utils

        commit, inherited = None, False
        if self._context.rank == 0:
            try:
                commit = self._claim()
                if commit is None and self._context.checkpoint_origin is not None:
                    commit, inherited = self._inherit(self._context.checkpoint_origin), True
            except StorageError as error:
                raise StorageUnavailable(str(error)) from error
            if commit is None:
                self._reporter.fresh()
        told = np.array([commit.attempt, commit.step, inherited] if commit else [0, 0, 0], np.int32)
        attempt, step, inherited = multihost_utils.broadcast_one_to_all(told).tolist()
        source = _folder_of(self._context.checkpoint_origin or "") if inherited else self._root.address
        return (Commit(attempt, step) if attempt else None), source

    def _inherit(self, origin: str) -> Commit:
        """The step of another job from which this one begins. It is not ours to quarantine, nor to fall back from."""
        folder = _folder_of(origin)
        commit = Commit.at(origin.removeprefix(f"{folder}/"))
        damage = manifest.damage_of(open_storage(folder, self._reporter.storage_trouble), commit)
        if damage is not None:
            raise NothingRestorable(f"{origin}, from which this job continues, cannot be restored: {damage.message}")
        self._reporter.restored(commit.step, commit.path, source_job_id=folder.rpartition("/")[2])
        return commit

    def _claim(self) -> Commit | None:
        attempt, attempt_id = self._context.attempt, self._context.attempt_id
        failpoints.reach("claim.before")
        newest = latest.claim(self._root, attempt, attempt_id)
        failpoints.reach("claim.after")
        commit, damaged = manifest.choose(self._root, newest)
        for damage in damaged:
            self._reporter.quarantined(damage.commit.step, damage.commit.path, damage.message)
        if commit is None:
            if self._context.committed_step is not None:
                known = f"step {self._context.committed_step:,} was committed"
                raise NothingRestorable(f"{known}, and {self._root.address} holds no committed step any more")
            return None
        if commit.path != newest.path:
            latest.rewind(self._root, attempt, attempt_id, commit.step, commit.path)
        failpoints.reach("rewind.after")
        # After the rewind: a crash in between must not leave LATEST naming a step that has no manifest.
        for damage in damaged:
            manifest.quarantine(self._root, damage.commit)
        # They would be counted among the commits to keep, and fallen back to.
        for uncommitted in manifest.beyond(self._root, attempt, commit):
            manifest.withdraw(self._root, uncommitted)
        failpoints.reach("quarantine.after")
        self._reporter.restored(commit.step, commit.path)
        return commit


def _folder_of(origin: str) -> str:
    return origin.rsplit("/", 2)[0]


def _is_storages(error: Exception) -> bool:
    """Whether the storage is to blame. Its clients under Orbax have errors of their own, which are not OSErrors."""
    return isinstance(error, OSError) or type(error).__module__.startswith(("gcsfs", "aiohttp")) or "GCS" in str(error)
