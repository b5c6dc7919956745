"""The mixture of experts: what it computes, on any mesh, and what capacity leaves out."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jobs.train.experts import Experts
from jobs.train.loop import place
from orchestrator.domain.programs.train import FeedForwardKind, Layers, LossConfig, MeshConfig
from tests.jobs.train.machine import MODEL, TRAIN, close, on, seen
from workers.rank.failure import InvalidProgram

MIXED = replace(MODEL, experts=4, feed_forward=FeedForwardKind.SWIGLU)


@pytest.fixture(scope="module", params=[None, 0.75], ids=["dropless", "capacity"])
def trained(request):
    """A mixture, and what three steps of one device make of it."""
    layers = Layers.UNROLLED if request.param is None else Layers.SCANNED
    mixed = replace(MIXED, expert_capacity=request.param, layers=layers)
    config = replace(TRAIN, model=mixed, loss=LossConfig(balance=0.1))
    return config, seen(config, on())


@pytest.mark.parametrize("axes", [{"expert": 4}, {"fsdp": 2, "expert": 2, "tensor": 2}, {"expert": 2, "sequence": 2}])
def test_a_mesh_with_experts_computes_what_one_device_computes(trained, axes):
    config, alone = trained
    spread = seen(config, on(**axes))
    close(spread, alone, rtol=2e-5)
    np.testing.assert_allclose(spread["experts_uneven"], alone["experts_uneven"], rtol=1e-4)
    assert alone["loss"][2] < alone["loss"][0]


def test_pieces_of_a_batch_give_the_gradient_of_the_whole(trained):
    config, alone = trained
    cut = replace(config, optimizer=replace(config.optimizer, accumulate=2))
    close(seen(cut, on()), alone)


def by_hand(experts: Experts, x_TD, kept):
    """Token by token. `kept` says whether the token's choice, best first, finds a place."""
    odds_TE = jax.nn.softmax(x_TD @ experts.router_DE[...])
    found = []
    for t, x_D in enumerate(x_TD):
        best = np.argsort(-np.asarray(odds_TE[t]), stable=True)[:2]
        share = odds_TE[t, best] / odds_TE[t, best].sum()
        y_D = jnp.zeros_like(x_D)
        for rank, expert in enumerate(best):
            h_F = jax.nn.silu(x_D @ experts.gate_EDF[expert]) * (x_D @ experts.up_EDF[expert])
            y_D += kept(t, rank, best) * share[rank] * (h_F @ experts.down_EFD[expert])
        found.append(y_D)
    part_E = np.bincount(np.argsort(-np.asarray(odds_TE), axis=1, stable=True)[:, :2].ravel(), minlength=4) / 16
    return jnp.stack(found), 4 * float(part_E @ np.asarray(odds_TE.mean(axis=0)))


@pytest.mark.parametrize("capacity", [None, 2.0, 0.5])
def test_each_token_is_the_weighted_sum_of_its_chosen_experts_as_long_as_they_have_places(capacity):
    config = replace(MIXED, expert_capacity=capacity)
    experts = Experts(config, nnx.Rngs(params=0))
    x_BTD = jax.random.normal(jax.random.key(1), (2, 8, MODEL.D))
    y_BTD, uneven_B = jax.jit(lambda x: experts(x, on()))(x_BTD)
    for row in range(2):
        odds_TE = np.asarray(x_BTD[row] @ experts.router_DE[...])
        taken = dict.fromkeys(range(4), 0)
        places = {}
        for rank in range(2):
            for t in range(8):
                expert = int(np.argsort(-odds_TE[t], stable=True)[rank])
                places[t, rank], taken[expert] = taken[expert], taken[expert] + 1
        expected, uneven = by_hand(experts, x_BTD[row], lambda t, rank, _: places[t, rank] < config.places_per_expert)  # noqa: B023
        np.testing.assert_allclose(y_BTD[row], expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(uneven_B[row], uneven, rtol=1e-5)
        assert (max(taken.values()) > config.places_per_expert) is (capacity == 0.5)


def test_experts_that_do_not_divide_over_the_devices_are_an_invalid_program():
    with pytest.raises(InvalidProgram, match=r"model\.E=3 does not divide over 2"):
        place(replace(TRAIN, model=replace(MIXED, experts=3), mesh=MeshConfig(expert=2)))
