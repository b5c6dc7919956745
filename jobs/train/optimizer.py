"""The optimizer under a clipped gradient, and its schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import optax

from orchestrator.domain.programs.train import OptimizerConfig, OptimizerKind, Schedule, TrainConfig


def learning_rate(config: TrainConfig) -> optax.Schedule:
    """Step -> learning rate."""
    optimizer, steps = config.optimizer, config.schedule_steps
    peak, warmup = optimizer.learning_rate, optimizer.warmup_steps
    low, after = peak * optimizer.final_fraction, steps - warmup
    match optimizer.schedule:
        case Schedule.COSINE:
            falling = optax.cosine_decay_schedule(peak, after, alpha=optimizer.final_fraction)
        case Schedule.LINEAR:
            falling = optax.linear_schedule(peak, low, after)
        case Schedule.WSD:
            decay = max(1, round(optimizer.wsd_decay * steps))
            falling = optax.linear_schedule(peak, low, min(decay, after), transition_begin=max(0, after - decay))
    return optax.join_schedules([optax.linear_schedule(0.0, peak, warmup), falling], [warmup]) if warmup else falling


def make_optimizer(config: TrainConfig, axes: Any) -> optax.GradientTransformation:
    """`axes` is the tree of the parameters' logical axes, by which Muon tells rows from columns."""
    optimizer = config.optimizer
    return optax.chain(optax.clip_by_global_norm(optimizer.clip_norm), _KINDS[optimizer.kind](config, axes))


def _adamw(config: TrainConfig, _axes: Any) -> optax.GradientTransformation:
    optimizer = config.optimizer
    return optax.adamw(
        learning_rate(config), optimizer.b1, optimizer.b2, weight_decay=optimizer.weight_decay, mask=_decays
    )


def _lion(config: TrainConfig, _axes: Any) -> optax.GradientTransformation:
    optimizer = config.optimizer
    return optax.lion(
        learning_rate(config), optimizer.b1, optimizer.b2, weight_decay=optimizer.weight_decay, mask=_decays
    )


def _adafactor(config: TrainConfig, _axes: Any) -> optax.GradientTransformation:
    """Without Adafactor's own rescaling and clipping: rate and clip are the config's, as for the others."""
    optimizer = config.optimizer
    return optax.chain(
        optax.scale_by_factored_rms(),
        optax.add_decayed_weights(optimizer.weight_decay, _decays),
        optax.scale_by_learning_rate(learning_rate(config)),
    )


def _muon(config: TrainConfig, axes: Any) -> optax.GradientTransformation:
    optimizer: OptimizerConfig = config.optimizer
    return optax.contrib.muon(
        learning_rate(config),
        weight_decay=optimizer.weight_decay,
        weight_decay_mask=_decays,
        adam_b1=optimizer.b1,
        adam_b2=optimizer.b2,
        adam_weight_decay=optimizer.weight_decay,
        # Updates as large as AdamW's, so that one learning rate serves both.
        consistent_rms=0.2,
        muon_weight_dimension_numbers=axes and jax.tree.map(_sides, axes, is_leaf=lambda leaf: isinstance(leaf, tuple)),
    )


_KINDS: dict[OptimizerKind, Callable[[TrainConfig, Any], optax.GradientTransformation]] = {
    OptimizerKind.ADAMW: _adamw,
    OptimizerKind.LION: _lion,
    OptimizerKind.ADAFACTOR: _adafactor,
    OptimizerKind.MUON: _muon,
}


def _sides(axes: tuple[str | None, ...]) -> optax.contrib.MuonDimensionNumbers | None:
    """Which axes of a block's matrix are summed over; None leaves a parameter to AdamW."""
    if "vocab" in axes or "embed" not in axes or axes == (None, "embed"):
        return None
    # Stacked layers and experts are many matrices, neither side of one. `embed` stands alone on its side.
    first = sum(axis in ("layers", "expert") for axis in axes)
    others = tuple(index for index in range(first, len(axes)) if axes[index] != "embed")
    embed = (axes.index("embed"),)
    rows, columns = (embed, others) if axes[first] == "embed" else (others, embed)
    return optax.contrib.MuonDimensionNumbers(reduction_axis=rows, output_axis=columns)


def _decays(params: Any) -> Any:
    """Decay acts on matrices only: pulling norm scales to 0 would only shrink the activations."""
    return jax.tree_util.tree_map_with_path(lambda path, _: "scale" not in jax.tree_util.keystr(path[-1:]), params)
