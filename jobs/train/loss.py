"""The loss: cross entropy of the next token, in nats, over logits that need not exist all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from orchestrator.domain.programs.train import LossConfig


class Sums(NamedTuple):
    """Over the targets that count: their cross entropies, the squared log-sums of their softmaxes, their number."""

    entropy: jax.Array
    squared_log_sum: jax.Array
    count: jax.Array

    def mean(self, config: LossConfig) -> jax.Array:
        """What the gradient is taken of; ln V is the loss of knowing nothing."""
        return (self.entropy + config.z_loss * self.squared_log_sum) / jnp.maximum(self.count, 1)


def next_token_sums(
    x_BTD: jax.Array,
    targets_BT: jax.Array,
    learn_BT: jax.Array | None,
    logits_of: Callable[[jax.Array], jax.Array],
    config: LossConfig,
) -> Sums:
    """Sums of features against targets; `learn` says which targets count (None: all).

    In pieces of the sequence, each of which takes every `chunks`-th place, so that a sequence split over devices stays
    so; the backward pass makes a piece's logits again.
    """
    if learn_BT is None:
        learn_BT = jnp.ones(targets_BT.shape, bool)
    if config.chunks == 1:
        return _sums(logits_of(x_BTD), targets_BT, learn_BT)

    @jax.checkpoint
    def piece(total: Sums, part: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[Sums, None]:
        x_BCD, targets_BC, learn_BC = part
        more = _sums(logits_of(x_BCD), targets_BC, learn_BC)
        return Sums(*(one + other for one, other in zip(total, more, strict=True))), None

    parts = tuple(_in_pieces(array, config.chunks) for array in (x_BTD, targets_BT, learn_BT))
    zero = jnp.zeros((), jnp.float32)
    total, _ = jax.lax.scan(piece, Sums(zero, zero, zero), parts)
    return total


def _sums(logits_BTV: jax.Array, targets_BT: jax.Array, learn_BT: jax.Array) -> Sums:
    log_sum_BT = jax.nn.logsumexp(logits_BTV, axis=-1)
    # Not by index: the vocabulary may be split over devices, and XLA's partitioner fails on the gather.
    is_target_BTV = targets_BT[..., None] == jnp.arange(logits_BTV.shape[-1])[None, None]
    target_BT = jnp.sum(jnp.where(is_target_BTV, logits_BTV, 0), axis=-1)
    learn_BT = learn_BT.astype(jnp.float32)
    return Sums(jnp.sum((log_sum_BT - target_BT) * learn_BT), jnp.sum(log_sum_BT**2 * learn_BT), jnp.sum(learn_BT))


def _in_pieces(array: jax.Array, chunks: int) -> jax.Array:
    return jnp.moveaxis(array.reshape(array.shape[0], -1, chunks, *array.shape[2:]), 2, 0)
