"""Named starting points of the built-in programs' configs, as plain data: what differs from the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Of a run on token files: what a pod takes per step, and how often it saves.
_AT_SCALE: Mapping[str, Any] = {
    "steps": 50_000,
    "checkpoint_every": 500,
    "report_every": 10,
    "loss": {"chunks": 8},
    "optimizer": {"learning_rate": 3e-4, "warmup_steps": 1000},
}
_LLAMA: Mapping[str, Any] = {
    "T": 8192, "V": 128_256, "kv_heads": 8, "rotary_base": 500_000.0, "norm_epsilon": 1e-5, "feed_forward": "swiglu",
    "scale_embedding": False, "layers": "scanned", "remat": "block",
}  # fmt: skip

TRAIN_PRESETS: Mapping[str, Mapping[str, Any]] = {
    # 0.25 M parameters: two processes of four CPU devices each, on two cores.
    "tiny": {},
    # 0.8 M: nanoGPT's character model for a CPU. Needs data.paths, and V to be the number of its text's characters.
    "shakespeare-char": {
        "steps": 2000,
        "checkpoint_every": 500,
        "report_every": 50,
        "eval_every": 250,
        "model": {"T": 64, "D": 128, "H": 4, "L": 4, "F": 512, "V": 65, "positions": "learned", "norm": "layer"},
        "data": {"batch": 12, "tokenizer": "characters", "eval_fraction": 0.1},
        "optimizer": {"learning_rate": 1e-3, "warmup_steps": 100, "b2": 0.99},
    },
    # 0.12 B: one host of TPU v5e.
    "small": {
        "steps": 20_000,
        "checkpoint_every": 500,
        "report_every": 10,
        "model": {"T": 1024, "D": 768, "H": 12, "L": 12, "F": 3072},
        "data": {"batch": 64, "max_bytes": 1_000_000_000},
        "optimizer": {"learning_rate": 6e-4, "warmup_steps": 500},
    },
    # `tiny` with a copy of everything on each device, as pmap and pmean would have it.
    "data-parallel": {"mesh": {"data": None, "fsdp": 1}},
    # 1.3 B; needs data.paths, as do those below: token files of source=tokens.
    "gpt-1b": {
        **_AT_SCALE,
        "model": {
            "T": 2048, "D": 2048, "H": 16, "L": 24, "F": 8192, "V": 50_000, "positions": "learned", "norm": "layer",
            "layers": "scanned", "remat": "block",
        },
        "data": {"batch": 256, "source": "tokens"},
    },
    # 1.2 B: the shape of Llama 3.2 1B.
    "llama-1b": {
        **_AT_SCALE,
        "model": {**_LLAMA, "D": 2048, "H": 32, "L": 16, "F": 8192, "rotary_scaling": {"factor": 32.0}},
        "data": {"batch": 256, "source": "tokens"},
    },
    # 8.0 B: the shape of Llama 3.1 8B.
    "llama-8b": {
        **_AT_SCALE,
        "model": {**_LLAMA, "D": 4096, "H": 32, "L": 32, "F": 14_336, "output": "free", "rotary_scaling": {}},
        "data": {"batch": 256, "source": "tokens"},
    },
    # 6.9 B, 2.0 B of them for each token: eight experts in the shape of llama-1b. `mesh: {expert: 8}` spreads them.
    "moe-8x": {
        **_AT_SCALE,
        "model": {
            **_LLAMA, "T": 4096, "D": 2048, "H": 32, "L": 16, "F": 8192, "experts": 8, "expert_capacity": 1.25,
        },
        "data": {"batch": 256, "source": "tokens"},
    },
    # 2.6 B: the shape of Gemma 2 2B.
    "gemma-like-2b": {
        **_AT_SCALE,
        "model": {
            "T": 8192, "D": 2304, "H": 8, "L": 26, "F": 9216, "V": 256_000, "kv_heads": 4, "head_width": 256,
            "feed_forward": "geglu", "norm_at": "both", "query_width": 256.0, "attention_cap": 50.0, "logit_cap": 30.0,
            "window": 4096, "global_every": 2, "layers": "scanned", "remat": "block",
        },
        "data": {"batch": 256, "source": "tokens"},
    },
}  # fmt: skip


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, mapping by mapping."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
