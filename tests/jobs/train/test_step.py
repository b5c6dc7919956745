"""The step: spread over any mesh it computes what one device computes; options change what they say and no more."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jobs.train.layout import Layout, Placement, make_mesh, spec_for
from jobs.train.loop import place
from jobs.train.optimizer import learning_rate, make_optimizer
from jobs.train.step import Trainer, initialise
from orchestrator.domain.programs.train import (
    DataConfig,
    Layers,
    MeshConfig,
    ModelConfig,
    OnNan,
    OptimizerConfig,
    OptimizerKind,
    Schedule,
    TrainConfig,
)
from tests.jobs.train.machine import MODEL, TRAIN, a_config, close, on, start, steps, tokens_of
from workers.rank.failure import InvalidProgram


@pytest.fixture(scope="module")
def alone():
    """What one device makes of three steps: what every layout must arrive at."""
    return steps(TRAIN, on())[1]


@pytest.mark.parametrize(
    "axes",
    [
        {"data": 2}, {"fsdp": 4}, {"tensor": 2}, {"sequence": 4}, {"data": 2, "fsdp": 2, "tensor": 2},
        {"data": 2, "sequence": 2, "tensor": 2}, {"fsdp": 2, "fsdp_across": 4},
    ],
    ids=str,
)  # fmt: skip
def test_a_mesh_computes_what_one_device_computes(alone, axes):
    close(steps(TRAIN, on(**axes))[1], alone)


def test_each_of_eight_devices_holds_an_eighth(alone):
    placement = Placement(make_mesh(MeshConfig()))
    close(steps(TRAIN, placement)[1], alone)
    state = initialise(trainer := Trainer(TRAIN, placement), trainer.abstract())
    jax.tree.map(np.testing.assert_array_equal, jax.device_get(state), start(TRAIN))
    matrices = [leaf for leaf in jax.tree.leaves((state.params, state.optimizer)) if leaf.ndim > 1]
    assert len(matrices) == 3 * (1 + 6 * MODEL.L)  # the weights and AdamW's two moments of each
    assert all(leaf.addressable_shards[0].data.size * 8 == leaf.size for leaf in matrices)


def test_the_data_parallel_preset_takes_the_mean_of_what_each_device_alone_would_compute():
    """As pmap with pmean does; pmap itself is a shard_map by now, inside which the model's own mesh is refused."""
    config = replace(TRAIN, mesh=MeshConfig(data=None, fsdp=1))
    _, seen = steps(config, Placement(make_mesh(config.mesh)), count=1)
    trainer = Trainer(config, on())

    @jax.jit
    def gradient(params, batch):
        return jax.value_and_grad(lambda params: trainer.evaluate(params, batch).mean(config.loss))(params)

    params, tokens = jax.jit(trainer.fresh)().params, tokens_of(config)["tokens"]
    each = [gradient(params, {"tokens": row[None]}) for row in tokens]
    loss, grads = jax.tree.map(lambda *leaves: sum(leaves) / len(leaves), *each)
    np.testing.assert_allclose(seen["loss"][0], loss, rtol=1e-5)
    norm = np.sqrt(sum(float((leaf**2).sum()) for leaf in jax.tree.leaves(grads)))
    np.testing.assert_allclose(seen["grad_norm"][0], norm, rtol=1e-5)


@pytest.mark.parametrize("kind", OptimizerKind)
def test_every_optimizer_goes_downhill_and_the_same_way_on_a_mesh_of_scanned_blocks(kind):
    """The optimizer alone, on the parameters of the model: its gradient here is the way to half of each of them."""
    config = replace(TRAIN, optimizer=replace(TRAIN.optimizer, kind=kind, learning_rate=1e-2, warmup_steps=1))
    config = replace(config, model=replace(MODEL, layers=Layers.SCANNED))

    def moved(placement):
        trainer = Trainer(config, placement)
        state = jax.tree.map(lambda leaf, like: jax.device_put(leaf, like.sharding), start(config), trainer.abstract())
        params, kept, goal = state.params, state.optimizer, jax.tree.map(lambda leaf: leaf / 2, state.params)

        @jax.jit
        def move(params, kept):
            grads = jax.tree.map(jnp.subtract, params, goal)
            updates, kept = make_optimizer(config, trainer.axes).update(grads, kept, params)
            return optax.apply_updates(params, updates), kept, optax.tree.norm(grads)

        distances = []
        for _ in range(3):
            params, kept, distance = move(params, kept)
            distances.append(float(distance))
        return params, distances

    (one, distances), (spread, _) = moved(on()), moved(on(fsdp=2, tensor=2))
    assert distances[2] < distances[1]
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6), spread, one)


def test_a_batch_in_pieces_gives_the_gradient_of_the_whole_also_where_targets_do_not_count(alone):
    cut = replace(TRAIN, optimizer=replace(TRAIN.optimizer, accumulate=4))
    close(steps(cut, on(fsdp=2))[1], alone)
    batch = tokens_of(TRAIN)
    batch |= {"segments": np.ones_like(batch["tokens"]), "learn": np.random.default_rng(1).random((8, 9)) < 0.3}
    close(steps(cut, on(), batch)[1], steps(TRAIN, on(), batch)[1])


def test_dropout_is_drawn_anew_each_step_and_is_the_same_on_any_mesh():
    config = a_config(dropout=0.5)
    one = steps(config, on())[1]
    close(steps(config, on(data=2, fsdp=2))[1], one)
    frozen = replace(config, optimizer=replace(config.optimizer, learning_rate=1e-30))
    assert len(set(steps(frozen, on())[1]["loss"])) == 3


def test_a_step_that_is_not_finite_changes_nothing_where_it_is_to_be_skipped():
    huge = OptimizerConfig(warmup_steps=0, learning_rate=1e38, clip_norm=1e30, on_nan=OnNan.SKIP)
    state, seen = steps(replace(TRAIN, optimizer=huge), on(), count=3)
    assert seen["skipped"][0] == 0
    assert seen["skipped"][2] == 1
    assert int(state.step) == 3


@pytest.mark.parametrize(
    ("schedule", "halfway", "near_the_end"),
    [(Schedule.COSINE, 0.55, 0.102), (Schedule.LINEAR, 0.55, 0.118), (Schedule.WSD, 1.0, 0.28)],
)
def test_schedules_rise_hold_and_fall(schedule, halfway, near_the_end):
    optimizer = OptimizerConfig(learning_rate=1.0, schedule=schedule, warmup_steps=10, wsd_decay=0.1)
    rate = learning_rate(TrainConfig(steps=110, optimizer=optimizer))
    found = [float(rate(step)) for step in (0, 5, 10, 60, 108, 110)]
    np.testing.assert_allclose(found, [0, 0.5, 1, halfway, near_the_end, 0.1], atol=0.02)


def test_decay_reaches_matrices_and_no_norm():
    config = replace(TRAIN, optimizer=replace(TRAIN.optimizer, weight_decay=0.9, warmup_steps=0))
    still = replace(config, optimizer=replace(config.optimizer, weight_decay=0.0))
    decayed, kept = (steps(one, on(), count=1)[0].params for one in (config, still))
    assert not np.array_equal(decayed["embedding_VD"], kept["embedding_VD"])
    np.testing.assert_array_equal(decayed["final_norm"]["scale"], kept["final_norm"]["scale"])


def test_two_axes_on_one_mesh_axis_are_refused():
    with pytest.raises(ValueError, match=r"\('embed', 'ffn'\) would lie on mesh axes .'fsdp', 'fsdp_across', 'fsdp'"):
        spec_for(("embed", "ffn"), Layout(ffn="fsdp"))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (TrainConfig(data=DataConfig(batch=12)), "data.batch=12 does not divide over 8 devices"),
        (TrainConfig(model=ModelConfig(D=36, H=2)), "model.D=36 does not divide over 8 devices"),
        (TrainConfig(mesh=MeshConfig(data=3)), "config.mesh: a mesh of data=3"),
        (TrainConfig(model=ModelConfig(kv_heads=1), mesh=MeshConfig(tensor=2)), "model.G=1 does not divide over 2"),
        (TrainConfig(model=ModelConfig(T=30), mesh=MeshConfig(sequence=4)), "model.T=30 does not divide over 4"),
    ],
)
def test_a_config_that_does_not_fit_the_devices_is_an_invalid_program(config, message):
    with pytest.raises(InvalidProgram, match=message):
        place(config)


def test_the_state_is_described_before_it_exists():
    trainer = Trainer(a_config(layers=Layers.SCANNED), on(fsdp=2))
    assert trainer.axes["blocks"][0]["attention"]["q_DHK"] == ("layers", "embed", "heads", None)
