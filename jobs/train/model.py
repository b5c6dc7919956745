"""A small decoder-only Transformer in Flax NNX. Names logical axes only; where they lie is `layout`'s business.

B batch  T tokens  S source tokens  D model  H heads  K head width  F feed-forward  V vocabulary (bytes)  C of q, k, v
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

from jobs.train.layout import LogicalAxes, Placement
from orchestrator.domain.programs.train import BYTES, Compute, ModelConfig

_ROTARY_BASE = 10_000.0
_NORM_EPSILON = 1e-6


def compute_dtype(compute: Compute) -> jnp.dtype:
    """The number type of activations on this backend."""
    if compute is Compute.AUTO:
        return jnp.dtype(jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16)
    return jnp.dtype(compute.value)


def _weight(rngs: nnx.Rngs, shape: tuple[int, ...], axes: LogicalAxes, fan_in: int) -> nnx.Param:
    return nnx.Param(jax.random.normal(rngs.params(), shape, jnp.float32) * fan_in**-0.5, axes=axes)


def _use(weight: nnx.Param, placement: Placement, dtype: jnp.dtype) -> jax.Array:
    return placement.gather(weight[...].astype(dtype), weight.get_metadata("axes"))


class Norm(nnx.Module):
    """RMS norm with a scale, in float32."""

    def __init__(self, D: int) -> None:
        self.scale_D = nnx.Param(jnp.ones((D,), jnp.float32), axes=("norm",))

    def __call__(self, x_BTD: jax.Array) -> jax.Array:
        x32_BTD = x_BTD.astype(jnp.float32)
        inverse_BT1 = jax.lax.rsqrt(jnp.mean(x32_BTD**2, axis=-1, keepdims=True) + _NORM_EPSILON)
        return (x32_BTD * inverse_BT1 * self.scale_D[...][None, None, :]).astype(x_BTD.dtype)


class Attention(nnx.Module):
    """Causal self-attention with rotary positions."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        D, H, K = config.D, config.H, config.K
        self.qkv_DCHK = _weight(rngs, (D, 3, H, K), ("embed", None, "heads", None), fan_in=D)
        self.out_HKD = _weight(rngs, (H, K, D), ("heads", None, "embed"), fan_in=D)

    def __call__(self, x_BTD: jax.Array, placement: Placement) -> jax.Array:
        qkv_DCHK, out_HKD = (_use(weight, placement, x_BTD.dtype) for weight in (self.qkv_DCHK, self.out_HKD))
        q_BTHK, k_BSHK, v_BSHK = jnp.moveaxis(jnp.einsum("BTD,DCHK->BTCHK", x_BTD, qkv_DCHK), 2, 0)
        q_BTHK, k_BSHK = rotate(q_BTHK), rotate(k_BSHK)
        # Softmax in float32: bfloat16 loses the tail.
        scores_BHTS = jnp.einsum("BTHK,BSHK->BHTS", q_BTHK, k_BSHK).astype(jnp.float32)
        T = x_BTD.shape[1]
        causal_TS = jnp.tril(jnp.ones((T, T), bool))
        scores_BHTS = jnp.where(causal_TS[None, None], scores_BHTS * q_BTHK.shape[-1] ** -0.5, -jnp.inf)
        weights_BHTS = jax.nn.softmax(scores_BHTS, axis=-1).astype(x_BTD.dtype)
        mixed_BTHK = jnp.einsum("BHTS,BSHK->BTHK", weights_BHTS, v_BSHK)
        return jnp.einsum("BTHK,HKD->BTD", mixed_BTHK, out_HKD)


class FeedForward(nnx.Module):
    """Two layers with GELU between them."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.up_DF = _weight(rngs, (config.D, config.F), ("embed", "ffn"), fan_in=config.D)
        self.down_FD = _weight(rngs, (config.F, config.D), ("ffn", "embed"), fan_in=config.F)

    def __call__(self, x_BTD: jax.Array, placement: Placement) -> jax.Array:
        up_DF, down_FD = (_use(weight, placement, x_BTD.dtype) for weight in (self.up_DF, self.down_FD))
        return jnp.einsum("BTF,FD->BTD", jax.nn.gelu(jnp.einsum("BTD,DF->BTF", x_BTD, up_DF)), down_FD)


class Block(nnx.Module):
    """Attention and feed-forward, each normed before and added after."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.attention_norm, self.attention = Norm(config.D), Attention(config, rngs)
        self.ffn_norm, self.ffn = Norm(config.D), FeedForward(config, rngs)

    def __call__(self, x_BTD: jax.Array, placement: Placement) -> jax.Array:
        x_BTD = x_BTD + self.attention(self.attention_norm(x_BTD), placement)
        x_BTD = x_BTD + self.ffn(self.ffn_norm(x_BTD), placement)
        return placement.split(x_BTD, ("batch", None, None))


class Transformer(nnx.Module):
    """Bytes in, logits of the next byte out. The embedding is also the output layer."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        self.compute = config.compute
        self.embedding_VD = _weight(rngs, (BYTES, config.D), ("vocab", "embed"), fan_in=config.D)
        self.blocks = nnx.List([Block(config, rngs) for _ in range(config.L)])
        self.final_norm = Norm(config.D)

    def __call__(self, tokens_BT: jax.Array, placement: Placement) -> jax.Array:
        """Logits [B, T, V] in float32 for tokens [B, T]."""
        embedding_VD = _use(self.embedding_VD, placement, compute_dtype(self.compute))
        x_BTD = self.decode(embedding_VD[tokens_BT] * embedding_VD.shape[1] ** 0.5, placement)
        return jnp.einsum("BTD,VD->BTV", x_BTD, embedding_VD).astype(jnp.float32)

    def decode(self, x_BTD: jax.Array, placement: Placement) -> jax.Array:
        """From embedded tokens to normed features, in which place t knows of places up to t."""
        x_BTD = placement.split(x_BTD, ("batch", None, None))
        for block in self.blocks:
            x_BTD = block(x_BTD, placement)
        return self.final_norm(x_BTD)


def rotate(x_BTHK: jax.Array) -> jax.Array:
    """Rotary positions: pairs (i, i + K/2) turned by an angle that grows with the token's place."""
    T, half = x_BTHK.shape[1], x_BTHK.shape[3] // 2
    frequency_k = _ROTARY_BASE ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle_1T1k = (jnp.arange(T, dtype=jnp.float32)[:, None] * frequency_k[None, :])[None, :, None, :]
    sin, cos = jnp.sin(angle_1T1k).astype(x_BTHK.dtype), jnp.cos(angle_1T1k).astype(x_BTHK.dtype)
    low, high = jnp.split(x_BTHK, 2, axis=-1)
    return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)
