"""Named starting points of the built-in programs' configs, as plain data: what differs from the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TRAIN_PRESETS: Mapping[str, Mapping[str, Any]] = {
    # 0.25 M parameters: two processes of four CPU devices each, on two cores.
    "tiny": {},
    # 0.12 B parameters: one host of TPU v5e.
    "small": {
        "steps": 20_000,
        "checkpoint_every": 500,
        "report_every": 10,
        "model": {"T": 1024, "D": 768, "H": 12, "L": 12, "F": 3072},
        "data": {"batch": 64, "max_bytes": 1_000_000_000},
        "optimizer": {"learning_rate": 6e-4, "warmup_steps": 500},
    },
    # 1.2 B parameters: v5e:4x4 and above.
    "base": {
        "steps": 50_000,
        "checkpoint_every": 500,
        "report_every": 10,
        "model": {"T": 2048, "D": 2048, "H": 16, "L": 24, "F": 8192},
        "data": {"batch": 256, "max_bytes": 10_000_000_000},
        "optimizer": {"learning_rate": 3e-4, "warmup_steps": 1000},
    },
}


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, mapping by mapping."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
