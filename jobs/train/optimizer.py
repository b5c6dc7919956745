"""The optimizer: AdamW under a clipped gradient and a warm-up cosine schedule."""

from __future__ import annotations

import jax
import optax

from orchestrator.domain.programs.train import TrainConfig


def learning_rate(config: TrainConfig) -> optax.Schedule:
    """Step -> learning rate."""
    optimizer = config.optimizer
    return optax.schedules.warmup_cosine_decay_schedule(
        init_value=0.0 if optimizer.warmup_steps else optimizer.learning_rate,
        peak_value=optimizer.learning_rate,
        warmup_steps=optimizer.warmup_steps,
        decay_steps=config.schedule_steps,
        end_value=optimizer.learning_rate * optimizer.final_fraction,
    )


def make_optimizer(config: TrainConfig) -> optax.GradientTransformation:
    """Decay acts on matrices only: pulling norm scales to 0 would only shrink the activations."""
    optimizer = config.optimizer
    return optax.chain(
        optax.clip_by_global_norm(optimizer.clip_norm),
        optax.adamw(
            learning_rate(config),
            b1=optimizer.b1,
            b2=optimizer.b2,
            weight_decay=optimizer.weight_decay,
            mask=lambda params: jax.tree.map(lambda leaf: leaf.ndim > 1, params),
        ),
    )
