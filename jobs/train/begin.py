"""The weights that a run begins from: drawn, read from a folder, or taken from another job's checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from jobs.train.step import State, Trainer, initialise
from orchestrator.domain.programs.train import TrainConfig
from workers.rank.failure import InvalidProgram

Source = Callable[[str], str]
"""`<job id>/<attempt>/<step>` -> the folder of that checkpoint."""


def state(trainer: Trainer, target: State, source: Source) -> State:
    """A state at step 0: drawn from the seed, with the weights that the config names in place of its own."""
    drawn = initialise(trainer, target)
    # Adapters are always drawn: it is to the named weights that they are added.
    if trainer.config.init_from is None or trainer.config.lora is not None:
        return drawn
    jax.tree.map(lambda leaf: leaf.delete(), drawn.params)  # chips need not hold both
    return replace(drawn, params=weights(trainer.config, target.params, source))


def weights(config: TrainConfig, target: Any, source: Source) -> Any:
    """The parameters that `init_from` names, on `target`'s shapes and shardings. Raises InvalidProgram."""
    named = config.init_from
    assert named is not None, "the config sees to it"
    if named.hf is not None:
        from jobs.train.weights import read  # no other job needs the library

        return read(Path(named.hf), config.model, target)
    assert named.checkpoint is not None, "the config sees to it"
    return of_checkpoint(source(named.checkpoint), target)


def of_checkpoint(folder: str, target: Any) -> Any:
    """The parameters of a step that was saved, and nothing else of it. Raises InvalidProgram when they differ."""
    import orbax.checkpoint as ocp

    item = {"params": target}
    asked = ocp.args.PyTreeRestore(
        item=item, restore_args=ocp.checkpoint_utils.construct_restore_args(item), partial_restore=True
    )
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:
        # Asked for a part, Orbax passes over what is not there.
        found = _sizes(checkpointer.metadata(f"{folder}/state").item_metadata.tree["params"])
        different = sorted(name for name, _ in found.items() ^ _sizes(target).items())
        if different:
            raise InvalidProgram(f"{folder} has another model's weights: they differ in {', '.join(different[:3])}")
        return checkpointer.restore(f"{folder}/state", args=asked)["params"]


def _sizes(params: Any) -> dict[str, tuple[int, ...]]:
    """Name -> shape; blocks have numbers here, and texts in Orbax."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {".".join(str(step.key) for step in path): tuple(leaf.shape) for path, leaf in leaves}
