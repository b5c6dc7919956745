"""A decoder-only Transformer in Flax NNX. Names logical axes only; where they lie is `layout`'s business."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jobs.train.attention import Attention
from jobs.train.dense import product
from jobs.train.layers import Norm, Turn, capped, dropped, keys_for, looked_up, project, turns, used, weight
from jobs.train.layout import Placement
from orchestrator.domain.programs.train import (
    Compute,
    FeedForwardKind,
    Layers,
    ModelConfig,
    NormAt,
    Output,
    Positions,
    Remat,
)

_POLICIES: dict[Remat, Callable[..., bool] | None] = {
    Remat.DOTS: jax.checkpoint_policies.dots_with_no_batch_dims_saveable,
    Remat.BLOCK: None,
}


def compute_dtype(compute: Compute, platform: str) -> jnp.dtype:
    """The number type of activations on this platform."""
    if compute is Compute.AUTO:
        return jnp.dtype(jnp.float32 if platform == "cpu" else jnp.bfloat16)
    return jnp.dtype(compute.value)


class FeedForward(nnx.Module):
    """Two layers with GELU between them, or the gated kind with two on the way in."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.kind = config.feed_forward
        gated = self.kind is not FeedForwardKind.GELU
        self.gate_DF = weight(rngs, (config.D, config.F), ("embed", "ffn"), config.D) if gated else None
        self.up_DF = weight(rngs, (config.D, config.F), ("embed", "ffn"), config.D)
        self.down_FD = weight(rngs, (config.F, config.D), ("ffn", "embed"), config.F)

    def __call__(self, x_BTD: jax.Array, placement: Placement) -> jax.Array:
        h_BTF = project(x_BTD, self.up_DF, placement)
        if self.gate_DF is None:
            h_BTF = jax.nn.gelu(h_BTF)
        else:
            bend = jax.nn.silu if self.kind is FeedForwardKind.SWIGLU else jax.nn.gelu
            h_BTF = bend(project(x_BTD, self.gate_DF, placement)) * h_BTF
        return project(h_BTF, self.down_FD, placement)


class Block(nnx.Module):
    """Attention and feed-forward, each normed and added."""

    def __init__(self, config: ModelConfig, block: int, rngs: nnx.Rngs) -> None:
        self.at, self.dropout = config.norm_at, config.dropout
        self.attention, self.ffn = Attention(config, block, rngs), FeedForward(config, rngs)
        self.attention_norm, self.ffn_norm = Norm(config.D, config), Norm(config.D, config)
        twice = self.at is NormAt.BOTH
        self.attention_out_norm = Norm(config.D, config) if twice else None
        self.ffn_out_norm = Norm(config.D, config) if twice else None

    def __call__(
        self,
        x_BTD: jax.Array,
        placement: Placement,
        turn: Turn | None,
        segments_BT: jax.Array | None,
        key: jax.Array | None,
    ) -> jax.Array:
        first, second = keys_for(key, 2)

        def attend(x_BTD: jax.Array) -> jax.Array:
            return self.attention(x_BTD, placement, turn, segments_BT)

        def feed(x_BTD: jax.Array) -> jax.Array:
            return self.ffn(x_BTD, placement)

        x_BTD = self._add(x_BTD, attend, self.attention_norm, self.attention_out_norm, first)
        x_BTD = self._add(x_BTD, feed, self.ffn_norm, self.ffn_out_norm, second)
        return placement.split(x_BTD, ("batch", "time", None))

    def _add(
        self,
        x_BTD: jax.Array,
        branch: Callable[[jax.Array], jax.Array],
        norm: Norm,
        out_norm: Norm | None,
        key: jax.Array | None,
    ) -> jax.Array:
        if self.at is NormAt.POST:
            return norm(x_BTD + dropped(branch(x_BTD), self.dropout, key))
        y_BTD = branch(norm(x_BTD))
        return x_BTD + dropped(y_BTD if out_norm is None else out_norm(y_BTD), self.dropout, key)


class Transformer(nnx.Module):
    """Tokens in, features out, from which `logits` makes those of the next token.

    `blocks` holds L blocks; when scanned, one period of blocks whose parameters are stacked on a first axis.
    """

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.config = config
        V, D, T = config.V, config.D, config.T
        self.embedding_VD = weight(rngs, (V, D), ("vocab", "embed"), fan_in=D)
        self.positions_TD = (
            weight(rngs, (T, D), (None, "embed"), fan_in=D) if config.positions is Positions.LEARNED else None
        )
        if config.layers is Layers.SCANNED:
            stacked = nnx.split_rngs(splits=config.L // config.period)(nnx.vmap(_period, in_axes=(None, 0)))
            self.blocks = stacked(config, rngs)
        else:
            self.blocks = nnx.List([Block(config, block, rngs) for block in range(config.L)])
        self.final_norm = None if config.norm_at is NormAt.POST else Norm(D, config)
        self.output_DV = weight(rngs, (D, V), ("embed", "vocab"), fan_in=D) if config.output is Output.FREE else None

    def __call__(
        self,
        tokens_BT: jax.Array,
        placement: Placement,
        segments_BT: jax.Array | None = None,
        key: jax.Array | None = None,
    ) -> jax.Array:
        """Features [B, T, D]. Segments are documents that share a row: none sees another, each begins at place 0."""
        key_in, key_blocks = keys_for(key, 2)
        dtype = compute_dtype(self.config.compute, placement.platform)
        places_BT = jnp.arange(tokens_BT.shape[1])[None] if segments_BT is None else _places(segments_BT)
        x_BTD = looked_up(tokens_BT, self.embedding_VD, placement, dtype)
        if self.config.scale_embedding:
            x_BTD = x_BTD * self.config.D**0.5
        if self.positions_TD is not None:
            at_BT = jnp.broadcast_to(places_BT, tokens_BT.shape)
            x_BTD = x_BTD + looked_up(at_BT, self.positions_TD, placement, dtype)
        x_BTD = dropped(x_BTD, self.config.dropout, key_in)
        return self.decode(x_BTD, placement, places_BT, segments_BT, key_blocks)

    def decode(
        self,
        x_BTD: jax.Array,
        placement: Placement,
        places_BT: jax.Array,
        segments_BT: jax.Array | None = None,
        key: jax.Array | None = None,
    ) -> jax.Array:
        """From embedded tokens to normed features, in which place t knows of places up to t."""
        x_BTD = placement.split(x_BTD, ("batch", "time", None))
        turn = turns(places_BT, self.config) if self.config.positions is Positions.ROTARY else None
        repeats = self.config.L // len(self.blocks)
        keys = None if key is None else jax.random.split(key, self.config.L).reshape(repeats, len(self.blocks))
        graph, params = nnx.split(self.blocks)

        def apply(x_BTD: jax.Array, params: nnx.State, keys: jax.Array | None) -> jax.Array:
            for index, block in enumerate(nnx.merge(graph, params)):
                one = self._remat(lambda x, block=block, **given: block(x, placement, turn, segments_BT, **given))
                x_BTD = one(x_BTD, key=None if keys is None else keys[index])
            return x_BTD

        if self.config.layers is Layers.SCANNED:
            x_BTD, _ = jax.lax.scan(lambda x, each: (apply(x, *each), None), x_BTD, (params, keys))
        else:
            x_BTD = apply(x_BTD, params, None if keys is None else keys[0])
        return x_BTD if self.final_norm is None else self.final_norm(x_BTD)

    def logits(self, x_BTD: jax.Array, placement: Placement) -> jax.Array:
        """[B, T, V] in float32."""
        return self.with_logits(lambda logits, x_BTD: logits(x_BTD), x_BTD, placement)

    def with_logits(self, compute: Callable[..., Any], x_BTD: jax.Array, placement: Placement, *rows: Any) -> Any:
        """`compute(logits, x, *rows)`, where `logits` makes those of features; each device for its own rows."""
        param = self.embedding_VD if self.output_DV is None else self.output_DV

        def on_one(weight: jax.Array, x_BTD: jax.Array, *rows: Any) -> Any:
            def logits(x_BTD: jax.Array) -> jax.Array:
                if self.output_DV is None:
                    logits_BTV = jnp.einsum("BTD,VD->BTV", x_BTD, weight)
                else:
                    logits_BTV = product(x_BTD, weight, 1, on_cpu=placement.platform == "cpu")
                return capped(logits_BTV.astype(jnp.float32), self.config.logit_cap)

            return compute(logits, x_BTD, *rows)

        return used(on_one, param, placement, x_BTD.dtype, x_BTD, *rows)

    def _remat(self, function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
        if self.config.remat is Remat.NONE:
            return function
        return jax.checkpoint(function, policy=_POLICIES[self.config.remat])


def _period(config: ModelConfig, rngs: nnx.Rngs) -> nnx.List:
    return nnx.List([Block(config, block, rngs) for block in range(config.period)])


def _places(segments_BT: jax.Array) -> jax.Array:
    """The place of each token in its own segment."""
    at_BT = jnp.broadcast_to(jnp.arange(segments_BT.shape[1])[None], segments_BT.shape)
    begins_BT = jnp.concatenate(
        [jnp.ones_like(segments_BT[:, :1], bool), segments_BT[:, 1:] != segments_BT[:, :-1]], axis=1
    )
    return at_BT - jax.lax.cummax(jnp.where(begins_BT, at_BT, 0), axis=1)
