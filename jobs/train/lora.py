"""Low-rank adapters: what is trained in place of the blocks' matrices, and the matrices that come of them.

Only what becomes of a weight is here; the model does not know. A merged weight is made in each step, where it lies, in
pieces like its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jobs.train.layout import LogicalAxes
from orchestrator.domain.programs.train import LoraConfig

_STACKED = ("layers", "expert")
"""Axes over which a parameter is many matrices."""


def adapter_axes(axes: Any) -> dict[str, dict[str, LogicalAxes]]:
    """Name of an adapted weight -> logical axes of its A and B; `axes` is the tree of the model's parameters."""
    return {
        name: {"A": (*stacked, *rows, None), "B": (*stacked, None, *columns)}
        for name, stacked, rows, columns in _matrices(axes)
    }


def draw(config: LoraConfig, axes: Any, params: Any, key: jax.Array) -> dict[str, dict[str, jax.Array]]:
    """Fresh adapters for parameters of these shapes: A normal with variance 1 / rows, B zero, which leaves W."""
    shapes = {_name(path): leaf.shape for path, leaf in jax.tree_util.tree_leaves_with_path(params)}
    drawn = {}
    for number, (name, stacked, rows, _) in enumerate(_matrices(axes)):
        shape, at, to = shapes[name], len(stacked), len(stacked) + len(rows)
        A = jax.random.normal(jax.random.fold_in(key, number), (*shape[:to], config.rank), jnp.float32)
        drawn[name] = {
            "A": A * math.prod(shape[at:to]) ** -0.5,
            "B": jnp.zeros((*shape[:at], config.rank, *shape[to:]), jnp.float32),
        }
    return drawn


def merged(config: LoraConfig, axes: Any, params: Any, adapters: dict[str, dict[str, jax.Array]]) -> Any:
    """The parameters with their adapters added."""
    stacks = {name: len(stacked) for name, stacked, _, _ in _matrices(axes)}

    def add(path: Any, weight: jax.Array) -> jax.Array:
        name = _name(path)
        if name not in stacks:
            return weight
        product = jnp.tensordot
        for _ in range(stacks[name]):
            product = jax.vmap(product, in_axes=(0, 0, None))
        return weight + config.scale * product(adapters[name]["A"], adapters[name]["B"], 1)

    return jax.tree_util.tree_map_with_path(add, params)


def _matrices(axes: Any) -> Iterator[tuple[str, LogicalAxes, LogicalAxes, LogicalAxes]]:
    """Each matrix of the blocks: its name, and its axes as stacked ones, rows (summed over) and columns."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(axes, is_leaf=lambda leaf: isinstance(leaf, tuple)):
        name = _name(path)
        first = sum(axis in _STACKED for axis in leaf)
        if name.startswith("blocks-") and "embed" in leaf:
            # `embed` stands alone on its side: first where a branch begins, last where it ends.
            cut = first + 1 if leaf[first] == "embed" else len(leaf) - 1
            yield name, leaf[:first], leaf[first:cut], leaf[cut:]


def _name(path: Any) -> str:
    """One key of a checkpoint, so without its separators."""
    return "-".join(str(step.key) for step in path)
