"""Orbax's asynchronous writer as one attempt uses it: uncompressed, model and position in one composite per step.

Its `AsyncCheckpointer` and not its `CheckpointManager`: which steps exist is LATEST's and the registry's business, and
the manager does not get over a failed save whose metadata failed as well.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

from workers.storage import is_bucket

# One save has a few writers in the background, each with an error of its own.
_MOST_ERRORS = 8


class Saver:
    """Writes steps to `<folder>/<step>`, local or `gs://…`, and reads them from any folder. All ranks call `save` and
    `restore` at the same point; `wait` is for any thread.

    Writers, and the hosts that wait for each other's, give up `save_deadline_s` after a save began.
    """

    def __init__(self, folder: str, save_deadline_s: float) -> None:
        if is_bucket(folder):
            # Must be set before gcsfs is imported: it would ask what kind of bucket it is at every step, with a client
            # of its own that knows neither emulators nor anonymous access.
            os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
        else:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103  # Orbax makes folders of steps only
        import orbax.checkpoint as ocp

        self._folder = folder
        self._lock = threading.Lock()
        self._saving: int | None = None
        self._faults: dict[int, Exception] = {}
        self._checkpointer = ocp.AsyncCheckpointer(
            ocp.CompositeCheckpointHandler(
                # Weights hardly compress, and compressing them would cost the CPU time that feeds the chips.
                state=ocp.PyTreeCheckpointHandler(use_compression=False),
                position=ocp.JsonCheckpointHandler(),
            ),
            # No post_finalization_callback: it runs before the commit.
            async_options=ocp.options.AsyncOptions(timeout_secs=math.ceil(save_deadline_s)),
            # An attempt never saves a step twice, and its folder is its own: looking would block the loop.
            file_options=ocp.options.FileOptions(skip_sync_file_validations=True),
        )

    def save(self, step: int, state: Any, position: dict[str, Any]) -> None:
        """Start saving; returns when the state has been copied from the devices. `wait` for the save before first."""
        import orbax.checkpoint as ocp

        self._saving = step
        self._checkpointer.save(
            f"{self._folder}/{step}",
            args=ocp.args.Composite(state=ocp.args.PyTreeSave(state), position=ocp.args.JsonSave(position)),
        )

    def wait(self, step: int | None = None) -> Exception | None:
        """Wait for the save that is being written, if there is one and it is that of `step`; what went wrong with it.

        The same answer to all who ask about that step, until the process ends.
        """
        with self._lock:
            saving = self._saving
            if saving is not None and step in (None, saving):
                if (fault := self._finish()) is not None:
                    self._faults[saving] = fault
                self._saving = None
            asked = saving if step is None else step
            return None if asked is None else self._faults.get(asked)

    def restore(self, path: str, target: Any) -> Any:
        """`.state` on the shardings of `target`, and `.position`, of the step that lies at `path`."""
        import orbax.checkpoint as ocp

        return self._checkpointer.restore(
            path,
            args=ocp.args.Composite(
                state=ocp.args.PyTreeRestore(
                    item=target, restore_args=ocp.checkpoint_utils.construct_restore_args(target)
                ),
                position=ocp.args.JsonRestore(),
            ),
        )

    def close(self) -> None:
        """End the threads. What was being written must be `wait`ed for before."""
        self._checkpointer.close()

    def _finish(self) -> Exception | None:
        """Wait, and take all errors out, so that the next save does not meet them. The first one is the cause."""
        first: Exception | None = None
        for _ in range(_MOST_ERRORS):
            try:
                self._checkpointer.wait_until_finished()
            except Exception as error:  # noqa: BLE001  # it is told by who asks
                first = first or error
            else:
                break
        return first
