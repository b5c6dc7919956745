"""`python -m jobs.train.export CONFIG CHECKPOINT FOLDER`: a committed step as a folder that transformers loads.

CONFIG is the whole config as JSON, as a rank is given it; CHECKPOINT is the folder of a step, `…/<attempt>/<step>`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
import orbax.checkpoint as ocp

from jobs.train import weights
from jobs.train.config import parse
from workers.rank.failure import InvalidProgram


def export(config: Path, checkpoint: Path, folder: Path) -> None:
    """Raises InvalidProgram when the model is none that transformers has, OSError when something is not there."""
    model = parse(config.read_bytes()).model
    weights.family_of(model)
    with ocp.PyTreeCheckpointer() as checkpointer:
        state = checkpoint.absolute() / "state"
        shapes = checkpointer.metadata(state).item_metadata.tree
        whole = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), shapes)
        params = checkpointer.restore(state, restore_args=whole)["params"]
    # Orbax gives back the numbers of blocks as text.
    params["blocks"] = {int(block): parts for block, parts in params["blocks"].items()}
    weights.write(folder, model, params)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python -m jobs.train.export CONFIG CHECKPOINT FOLDER")
    try:
        export(*map(Path, sys.argv[1:]))
    except (InvalidProgram, OSError) as error:
        sys.exit(f"jobs.train.export: {error}")
