"""Small runs of the real step on parts of the eight emulated devices."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh

from jobs.train.layout import MESH_AXES, Placement
from jobs.train.step import Trainer, compile_step, initialise
from orchestrator.domain.programs.train import DataConfig, MeshConfig, ModelConfig, OptimizerConfig, TrainConfig

MODEL = ModelConfig(T=8, D=32, H=4, L=2, F=32)
TRAIN = TrainConfig(steps=10, model=MODEL, data=DataConfig(batch=8), optimizer=OptimizerConfig(warmup_steps=2))


def a_config(**model: Any) -> TrainConfig:
    return replace(TRAIN, model=replace(MODEL, **model))


def on(**axes: int) -> Placement:
    """A mesh of as many devices as the axes need; none: one device."""
    shape = MeshConfig(**{"fsdp": 1} | axes).shape(int(np.prod(list(axes.values()), dtype=int)))
    devices = np.array(jax.devices()[: int(np.prod(shape))]).reshape(shape)
    return Placement(Mesh(devices, MESH_AXES, axis_types=(AxisType.Auto,) * len(MESH_AXES)))


def tokens_of(config: TrainConfig) -> dict[str, np.ndarray]:
    shape = (config.data.batch, config.model.T + 1)
    return {"tokens": np.random.default_rng(0).integers(0, config.model.V, shape, dtype=np.int32)}


@lru_cache(maxsize=32)
def start(config: TrainConfig) -> Any:
    """The fresh state of a config, as one device draws it; drawing it is compiled once for all meshes."""
    trainer = Trainer(config, on())
    return jax.device_get(initialise(trainer, trainer.abstract()))


def steps(config: TrainConfig, placement: Placement, batch: Any = None, count: int = 3) -> tuple[Any, dict[str, list]]:
    """State and metrics after `count` steps on one batch."""
    trainer = Trainer(config, placement)
    target = trainer.abstract()
    batch = jax.device_put(batch or tokens_of(config), placement.sharding(("batch", None)))
    step = compile_step(trainer, target, batch)
    state = jax.tree.map(lambda leaf, like: jax.device_put(leaf, like.sharding), start(config), target)
    seen: dict[str, list] = {}
    for _ in range(count):
        state, metrics = step(state, batch)
        for name, value in metrics.items():
            seen.setdefault(name, []).append(float(value))
    return state, seen


def close(one: Any, other: Any, rtol: float = 1e-5) -> None:
    for name in ("loss", "grad_norm"):
        np.testing.assert_allclose(one[name], other[name], rtol=rtol, err_msg=name)
