"""The loss: mean cross entropy of the next byte, in nats."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax


def next_byte_loss(logits_BTV: jax.Array, targets_BT: jax.Array) -> jax.Array:
    """A float32 scalar; ln 256 = 5.545 is the loss of knowing nothing."""
    return jnp.mean(optax.losses.softmax_cross_entropy_with_integer_labels(logits_BTV, targets_BT))
