"""The parts that blocks are made of: weights, products with them, norms, rotary positions. Logical axes only.

Letters of array names: B batch  T tokens  S source tokens  D model  H heads  G heads of keys and values  K head width
F feed-forward  V vocabulary  k half of K
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jobs.train.dense import product
from jobs.train.layout import LogicalAxes, Placement
from orchestrator.domain.programs.train import ModelConfig, NormKind, RotaryScaling


def weight(rngs: nnx.Rngs, shape: tuple[int, ...], axes: LogicalAxes, fan_in: int) -> nnx.Param:
    """A parameter of normal numbers with variance 1 / fan_in."""
    return nnx.Param(jax.random.normal(rngs.params(), shape, jnp.float32) * fan_in**-0.5, axes=axes)


def used(
    compute: Callable[..., Any], param: nnx.Param, placement: Placement, dtype: jnp.dtype, *rows: jax.Array | None
) -> Any:
    """`compute(parameter, *rows)` with the parameter as the model uses it: whole, in the activations' type, which is
    then also the type in which its gradient is summed over the devices."""
    return placement.with_whole(compute, param[...].astype(dtype), param.get_metadata("axes"), *rows)


def looked_up(places_BT: jax.Array, table: nnx.Param, placement: Placement, dtype: jnp.dtype) -> jax.Array:
    """The rows of a table at these places."""
    return used(lambda table, places_BT: table[places_BT], table, placement, dtype, places_BT)


def project(x: jax.Array, param: nnx.Param, placement: Placement, over: int = 1) -> jax.Array:
    """`x` times a weight, summed over the last `over` axes of the one and the first of the other."""
    on_cpu = placement.platform == "cpu"
    return used(lambda weight, x: product(x, weight, over, on_cpu=on_cpu), param, placement, x.dtype, x)


class Norm(nnx.Module):
    """RMS norm or layer norm with a scale and no bias, in float32."""

    def __init__(self, size: int, config: ModelConfig) -> None:
        self.scale = nnx.Param(jnp.ones((size,), jnp.float32), axes=("norm",))
        self.centred, self.epsilon = config.norm is NormKind.LAYER, config.norm_epsilon

    def __call__(self, x: jax.Array) -> jax.Array:
        """Over the last axis of `x`."""
        x32 = x.astype(jnp.float32)
        if self.centred:
            x32 = x32 - jnp.mean(x32, axis=-1, keepdims=True)
        inverse = jax.lax.rsqrt(jnp.mean(x32**2, axis=-1, keepdims=True) + self.epsilon)
        scale = self.scale[...].reshape((1,) * (x.ndim - 1) + (-1,))
        return (x32 * inverse * scale).astype(x.dtype)


Turn = tuple[jax.Array, jax.Array]
"""Sine and cosine of rotary positions, [1 or B, T, 1, k], in float32."""


def turns(places_BT: jax.Array, config: ModelConfig) -> Turn:
    """The rotations of tokens at these places: pair i turns by place / base^(2i/K)."""
    half = config.K // 2
    frequency_k = config.rotary_base ** (-jnp.arange(half, dtype=jnp.float32) / half)
    if config.rotary_scaling is not None:
        frequency_k = _stretched(frequency_k, config.rotary_scaling)
    angle_BT1k = places_BT.astype(jnp.float32)[:, :, None, None] * frequency_k[None, None, None, :]
    return jnp.sin(angle_BT1k), jnp.cos(angle_BT1k)


def rotate(x_BTHK: jax.Array, turn: Turn) -> jax.Array:
    """Pairs (i, i + K/2) of each head turned by their angle."""
    sin_BT1k, cos_BT1k = (part.astype(x_BTHK.dtype) for part in turn)
    low, high = jnp.split(x_BTHK, 2, axis=-1)
    return jnp.concatenate([low * cos_BT1k - high * sin_BT1k, high * cos_BT1k + low * sin_BT1k], axis=-1)


def dropped(x: jax.Array, rate: float, key: jax.Array | None) -> jax.Array:
    """`x` with a part of its numbers 0 and the others larger; without a key, `x`."""
    if key is None or rate == 0:
        return x
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0).astype(x.dtype)


def capped(x: jax.Array, cap: float | None) -> jax.Array:
    """`x` bent into ±cap."""
    return x if cap is None else jnp.tanh(x / cap) * cap


def keys_for(key: jax.Array | None, count: int) -> Sequence[jax.Array | None]:
    """`count` keys from one, or as many None."""
    return [None] * count if key is None else list(jax.random.split(key, count))


def _stretched(frequency_k: jax.Array, scaling: RotaryScaling) -> jax.Array:
    """Slow rotations slowed by `factor`, fast ones kept, a slope between."""
    turns_k = scaling.original * frequency_k / (2 * math.pi)
    slope_k = (turns_k - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency)
    kept_k = jnp.clip(slope_k, 0, 1)
    return frequency_k * (kept_k + (1 - kept_k) / scaling.factor)
