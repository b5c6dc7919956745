"""The model: causal, and the same numbers by whichever way they are computed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jobs.train.attention import attend
from jobs.train.model import Transformer
from orchestrator.domain.programs.train import (
    AttentionKind,
    FeedForwardKind,
    Layers,
    LossConfig,
    NormAt,
    NormKind,
    Output,
    Positions,
    Remat,
    RotaryScaling,
)
from tests.jobs.train.machine import MODEL, TRAIN, a_config, close, on, seen

KINDS = {
    "llama": {
        "kv_heads": 2, "feed_forward": FeedForwardKind.SWIGLU, "output": Output.FREE, "scale_embedding": False,
        "rotary_scaling": RotaryScaling(original=4),
    },
    "gemma": {
        "L": 2, "kv_heads": 1, "head_width": 16, "feed_forward": FeedForwardKind.GEGLU, "norm_at": NormAt.BOTH,
        "window": 3, "global_every": 2, "attention_cap": 5.0, "logit_cap": 3.0, "query_width": 10.0,
    },
    "gpt": {"positions": Positions.LEARNED, "norm": NormKind.LAYER, "window": 3},
    "post": {"norm_at": NormAt.POST, "qk_norm": True},
}  # fmt: skip


PLACE = on()


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    """A kind of model and what three steps on one device make of it."""
    config = a_config(**KINDS[request.param])
    return config, seen(config, on())


def test_a_place_depends_on_places_up_to_it_within_its_window_and_no_other():
    model = Transformer(replace(MODEL, window=3, L=1), nnx.Rngs(params=0))
    x_TD = jax.random.normal(jax.random.key(1), (MODEL.T, MODEL.D))

    @jax.jit
    def feature_T(x_TD):
        return jnp.sum(model.decode(x_TD[None], on(), jnp.arange(MODEL.T)[None]).x_BTD[0] ** 3, axis=-1)

    by_place_TSD = jax.jit(jax.jacrev(feature_T))(x_TD)
    depends_TS = np.any(np.asarray(by_place_TSD) != 0, axis=-1)
    near_TS = np.tril(np.ones((MODEL.T, MODEL.T), bool)) & ~np.tril(np.ones((MODEL.T, MODEL.T), bool), -3)
    np.testing.assert_array_equal(depends_TS, near_TS)


def test_every_kind_learns_and_has_as_many_parameters_as_it_says(kind):
    config, alone = kind
    assert alone["loss"][2] < alone["loss"][0]
    params = nnx.state(nnx.eval_shape(lambda: Transformer(config.model, nnx.Rngs(params=0))), nnx.Param)
    assert sum(leaf.size for leaf in jax.tree.leaves(params)) == config.model.parameters


def test_every_kind_computes_the_same_on_a_mesh_of_all_axes(kind):
    config, alone = kind
    heads = 2 if config.model.G % 2 == 0 else 1
    spread = seen(config, on(fsdp=2, sequence=2, tensor=heads))
    close(spread, alone, rtol=2e-5)


@pytest.mark.parametrize("name", ["llama", "gemma"])
def test_a_scan_over_stacked_blocks_computes_what_unrolled_blocks_do(name):
    unrolled, scanned = (a_config(**(KINDS[name] | {"L": 4, "layers": layers})) for layers in Layers)
    batch = jnp.arange(2 * 8).reshape(2, 8) % 256
    model, stacked = (Transformer(config.model, nnx.Rngs(params=0)) for config in (unrolled, scanned))
    period = scanned.model.period
    for index, block in enumerate(stacked.blocks):
        layers = [nnx.state(model.blocks[layer], nnx.Param) for layer in range(index, 4, period)]
        nnx.update(block, jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers))
    for name in ("embedding_VD", "output_DV"):
        if getattr(model, name) is not None:
            setattr(stacked, name, getattr(model, name))
    one, other = (jax.jit(lambda model=model: model(batch, on()).x_BTD)() for model in (model, stacked))
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("remat", [Remat.DOTS, Remat.BLOCK])
@pytest.mark.parametrize("layers", Layers)
def test_computing_again_changes_no_number(remat, layers):
    config = a_config(layers=layers, dropout=0.2)
    close(seen(a_config(layers=layers, dropout=0.2, remat=remat), on()), seen(config, on()), rtol=1e-6)


def test_logits_in_pieces_give_the_same_loss_and_gradient():
    whole = replace(TRAIN, loss=LossConfig(z_loss=1e-2))
    pieces = replace(TRAIN, loss=LossConfig(chunks=4, z_loss=1e-2))
    expected = seen(whole, on())
    close(seen(pieces, on(sequence=2)), expected)
    assert expected["grad_norm"] != seen(TRAIN, on())["grad_norm"]


@pytest.mark.parametrize(
    ("given", "axes"),
    [
        ({}, {"sequence": 2}), ({"window": 130}, {"sequence": 2, "tensor": 2}), ({"attention_cap": 5.0}, {"fsdp": 2}),
        ({"kv_heads": 1}, {}),
    ],
)  # fmt: skip
def test_splash_attention_computes_what_the_plain_one_does_on_a_part_of_the_context_too(given, axes):
    config = replace(MODEL, T=256, H=2, head_width=128, **given)
    keys = jax.random.split(jax.random.key(0), 3)
    sizes = (2, config.G, config.G)
    q, k, v = (jax.random.normal(key, (2, 256, heads, 128)) for key, heads in zip(keys, sizes, strict=True))
    segments = jnp.repeat(jnp.array([[1, 2]]), 128, axis=1).repeat(2, axis=0)
    for ids in (None, segments):

        def attended(q, k, v, kind=AttentionKind.DOT, placement=PLACE, ids=ids):
            return attend(q, k, v, replace(config, attention=kind), config.window_of(0), placement, ids)

        plain = jax.jit(attended)(q, k, v)
        splash = jax.jit(partial(attended, kind=AttentionKind.SPLASH, placement=on(**axes)))(q, k, v)
        np.testing.assert_allclose(plain, splash, rtol=1e-3, atol=1e-4)


def test_documents_in_one_row_do_not_see_each_other():
    config = a_config().model
    model = Transformer(config, nnx.Rngs(params=0))
    one, other = jnp.array([[5, 6, 7]]), jnp.array([[8, 9, 1, 2, 3]])
    features = jax.jit(lambda *given: model(*given).x_BTD, static_argnums=1)
    together = features(jnp.concatenate([one, other], axis=1), on(), jnp.array([[1, 1, 1, 2, 2, 2, 2, 2]]))
    np.testing.assert_allclose(together[:, :3], features(one, on()), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(together[:, 3:], features(other, on()), rtol=1e-5, atol=1e-5)
