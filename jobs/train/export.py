"""`python -m jobs.train.export CONFIG CHECKPOINT FOLDER`: a committed step as a folder that transformers loads.

With it go the tokenizer's files, and adapters are merged into the weights that they were trained on.

CONFIG is the whole config as JSON, as a rank is given it; CHECKPOINT is the folder of a step, `…/<attempt>/<step>`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import jax
import numpy as np
import orbax.checkpoint as ocp

from jobs.train import begin, weights
from jobs.train.config import parse
from jobs.train.layout import Placement, make_mesh
from jobs.train.step import Trainer
from orchestrator.domain.programs.train import MeshConfig
from workers.rank.failure import InvalidProgram

_TOKENIZER = (
    "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json",
)  # fmt: skip


def export(config: Path, checkpoint: Path, folder: Path) -> None:
    """Raises InvalidProgram when the model is none that transformers has, OSError when something is not there."""
    whole = parse(config.read_bytes())
    weights.family_of(whole.model)
    with ocp.PyTreeCheckpointer() as checkpointer:
        state = checkpoint.absolute() / "state"
        shapes = checkpointer.metadata(state).item_metadata.tree
        as_numpy = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), shapes)
        params = checkpointer.restore(state, restore_args=as_numpy)["params"]
    if whole.lora is None:
        # Orbax gives back the numbers of blocks as text.
        params["blocks"] = {int(block): parts for block, parts in params["blocks"].items()}
    else:
        trainer = Trainer(whole, Placement(make_mesh(MeshConfig(), jax.devices()[:1])))
        # The checkpoints of all jobs lie side by side.
        base = begin.weights(whole, trainer.base, lambda path: str(checkpoint.absolute().parents[2] / path))
        params = trainer.whole(params, base)
    weights.write(folder, whole.model, params)
    for source in (whole.data.tokenizer_path, whole.init_from and whole.init_from.hf):
        if source is not None:
            copy_tokenizer(Path(source), folder)


def copy_tokenizer(source: Path, folder: Path) -> None:
    """What `AutoTokenizer` reads, from a folder or from beside a tokenizer.json; what is there already stays."""
    for name in _TOKENIZER:
        file = (source if source.is_dir() else source.parent) / name
        if file.is_file() and not (folder / name).exists():
            shutil.copyfile(file, folder / name)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python -m jobs.train.export CONFIG CHECKPOINT FOLDER")
    try:
        export(*map(Path, sys.argv[1:]))
    except (InvalidProgram, OSError) as error:
        sys.exit(f"jobs.train.export: {error}")
