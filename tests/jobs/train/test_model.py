"""The model and its step: causal, spread over all devices, and the same wherever it lies."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jobs.train.layout import Layout, Placement, make_mesh, spec_for
from jobs.train.loop import place
from jobs.train.model import Transformer
from jobs.train.step import Trainer, compile_step, initialise
from orchestrator.domain.programs.train import DataConfig, MeshConfig, ModelConfig, OptimizerConfig, TrainConfig
from workers.rank.failure import InvalidProgram

MODEL = ModelConfig(T=8, D=32, H=2, L=1, F=32)
OPTIMIZER = OptimizerConfig(warmup_steps=2)


def one_device():
    return Placement(jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1, 1), ("data", "fsdp", "tensor")))


def losses_of_three_steps(placement):
    config = TrainConfig(steps=10, model=MODEL, data=DataConfig(batch=8), optimizer=OPTIMIZER)
    trainer = Trainer(config, placement)
    target = trainer.abstract()
    rows = placement.sharding(("batch", None))
    tokens = np.random.default_rng(0).integers(0, 256, (8, MODEL.T + 1), dtype=np.int32)
    step = compile_step(trainer, target, jax.ShapeDtypeStruct(tokens.shape, jnp.int32, sharding=rows))
    state, losses = initialise(trainer, target), []
    for _ in range(3):
        state, metrics = step(state, jax.device_put(tokens, rows))
        losses.append(float(metrics["loss"]))
    return losses, state


@pytest.fixture(scope="module")
def alone():
    """The losses on one device: what every layout must arrive at."""
    return losses_of_three_steps(one_device())[0]


def test_a_place_depends_on_places_up_to_it_and_no_later_one():
    model = Transformer(MODEL, nnx.Rngs(params=0))
    x_TD = jax.random.normal(jax.random.key(1), (MODEL.T, MODEL.D))

    @jax.jit
    def feature_T(x_TD):
        return jnp.sum(model.decode(x_TD[None], one_device())[0] ** 3, axis=-1)

    by_place_TSD = jax.jit(jax.jacrev(feature_T))(x_TD)
    depends_TS = np.any(np.asarray(by_place_TSD) != 0, axis=-1)
    np.testing.assert_array_equal(depends_TS, np.tril(np.ones((MODEL.T, MODEL.T), bool)))


def test_eight_devices_compute_what_one_computes_and_each_holds_an_eighth(alone):
    together, state = losses_of_three_steps(Placement(make_mesh(MeshConfig())))
    np.testing.assert_allclose(together, alone, rtol=1e-5)
    assert alone[2] < alone[0]
    matrices = [leaf for leaf in jax.tree.leaves((state.params, state.optimizer)) if leaf.ndim > 1]
    assert len(matrices) == 3 * (1 + 4 * MODEL.L)  # the weights and AdamW's two moments of each
    assert all(leaf.addressable_shards[0].data.size * 8 == leaf.size for leaf in matrices)


def test_tensor_parallel_computes_the_same(alone):
    spread, _ = losses_of_three_steps(Placement(make_mesh(MeshConfig(data=2, tensor=2))))
    np.testing.assert_allclose(spread, alone, rtol=1e-5)


def test_two_axes_on_one_mesh_axis_are_refused():
    with pytest.raises(ValueError, match=r"\('embed', 'ffn'\) would lie on mesh axes \['fsdp', 'fsdp'\]"):
        spec_for(("embed", "ffn"), Layout(ffn="fsdp"))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (TrainConfig(data=DataConfig(batch=12)), "data.batch=12 does not divide over 8 devices"),
        (TrainConfig(model=ModelConfig(D=36, H=2)), "model.D=36 does not divide over 8 devices"),
        (TrainConfig(mesh=MeshConfig(data=3)), "config.mesh: a mesh of data=3"),
    ],
)
def test_a_config_that_does_not_fit_the_devices_is_an_invalid_program(config, message):
    with pytest.raises(InvalidProgram, match=message):
        place(config)
