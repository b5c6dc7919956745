"""The Orbax manager of one attempt's folder: async, uncompressed, model and position in one composite per step."""

from __future__ import annotations

import os
from typing import Any

from workers.storage import is_bucket

# Longer than any save; Orbax's threads wait this long for each other.
SAVE_TIMEOUT_S = 1200


def make_manager(folder: str) -> Any:
    """A manager that saves to `folder`, local or `gs://…`, and can restore from any other."""
    if is_bucket(folder):
        # Must be set before gcsfs is imported: it would ask what kind of bucket it is at every step, with a client of
        # its own that knows neither emulators nor anonymous access.
        os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    import orbax.checkpoint as ocp

    return ocp.CheckpointManager(
        folder,
        # Weights hardly compress, and compressing them would cost the CPU time that feeds the chips.
        item_handlers={
            "state": ocp.PyTreeCheckpointHandler(use_compression=False),
            "position": ocp.JsonCheckpointHandler(),
        },
        options=ocp.CheckpointManagerOptions(
            max_to_keep=None,  # steps are retired by LATEST and the registry, not by what Orbax finds
            enable_async_checkpointing=True,
            # No post_finalization_callback: it runs before the commit.
            async_options=ocp.AsyncOptions(timeout_secs=SAVE_TIMEOUT_S),
            save_root_metadata=False,
        ),
    )
