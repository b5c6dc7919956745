"""Weights of Llama and Gemma 2 as Hugging Face names them: read into ours, and written from ours, as safetensors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from orchestrator.domain.programs.train import FeedForwardKind, Layers, ModelConfig, NormAt, NormKind, Output, Positions
from workers.rank.failure import InvalidProgram

_INDEX = "model.safetensors.index.json"
_ALONE = "model.safetensors"


@dataclass(frozen=True, slots=True)
class Form:
    """One array in both worlds: theirs to ours, and back."""

    ours: Callable[[np.ndarray, ModelConfig], np.ndarray]
    theirs: Callable[[np.ndarray, ModelConfig], np.ndarray]


_SAME = Form(lambda array, _: array, lambda array, _: array)
_TURNED = Form(lambda array, _: array.T, lambda array, _: array.T)
# [H K, D] to [D, H, K]; how many heads follows from K.
_INTO_HEADS = Form(
    lambda array, config: array.reshape(-1, config.K, config.D).transpose(2, 0, 1),
    lambda array, config: array.transpose(1, 2, 0).reshape(-1, config.D),
)
_OUT_OF_HEADS = Form(
    lambda array, config: array.T.reshape(-1, config.K, config.D),
    lambda array, config: array.reshape(-1, config.D).T,
)
# Gemma keeps what is added to 1.
_ABOVE_ONE = Form(lambda array, _: array + 1, lambda array, _: array - 1)

_WEIGHTS: Mapping[tuple[str, ...], tuple[str, Form]] = {
    ("attention", "q_DHK"): ("self_attn.q_proj", _INTO_HEADS),
    ("attention", "k_DGK"): ("self_attn.k_proj", _INTO_HEADS),
    ("attention", "v_DGK"): ("self_attn.v_proj", _INTO_HEADS),
    ("attention", "out_HKD"): ("self_attn.o_proj", _OUT_OF_HEADS),
    ("ffn", "gate_DF"): ("mlp.gate_proj", _TURNED),
    ("ffn", "up_DF"): ("mlp.up_proj", _TURNED),
    ("ffn", "down_FD"): ("mlp.down_proj", _TURNED),
}
_LLAMA_NORMS = {"attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
_GEMMA_NORMS = {
    "attention_norm": "input_layernorm",
    "attention_out_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "ffn_out_norm": "post_feedforward_layernorm",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One of our parameters: its path, and its name over there, or those of all layers that are stacked in it."""

    path: tuple[str | int, ...]
    names: tuple[str, ...]
    stacked: bool
    form: Form


def entries(config: ModelConfig) -> Iterator[Entry]:
    """All parameters. Raises InvalidProgram when neither Llama nor Gemma 2 has a model like this."""
    gemma = family_of(config) == "gemma2"
    norm = _ABOVE_ONE if gemma else _SAME
    yield Entry(("embedding_VD",), ("model.embed_tokens.weight",), False, _SAME)
    yield Entry(("final_norm", "scale"), ("model.norm.weight",), False, norm)
    if config.output is Output.FREE:
        yield Entry(("output_DV",), ("lm_head.weight",), False, _TURNED)
    norms = {(ours, "scale"): (theirs, norm) for ours, theirs in (_GEMMA_NORMS if gemma else _LLAMA_NORMS).items()}
    scanned = config.layers is Layers.SCANNED
    blocks = config.period if scanned else config.L
    for block in range(blocks):
        for path, (name, form) in {**_WEIGHTS, **norms}.items():
            names = tuple(f"model.layers.{layer}.{name}.weight" for layer in range(block, config.L, blocks))
            yield Entry(("blocks", block, *path), names, scanned, form)


def family_of(config: ModelConfig) -> str:
    """`llama` or `gemma2`. Raises InvalidProgram for what is neither."""
    common = config.positions is Positions.ROTARY and config.norm is NormKind.RMS
    common = common and not config.qk_norm and config.experts is None
    llama = (
        config.norm_at is NormAt.PRE
        and config.feed_forward is FeedForwardKind.SWIGLU
        and not config.scale_embedding
        and (config.window, config.attention_cap, config.logit_cap, config.query_width) == (None,) * 4
    )
    gemma = (
        config.norm_at is NormAt.BOTH
        and config.feed_forward is FeedForwardKind.GEGLU
        and config.scale_embedding
        and config.output is Output.TIED
        and config.rotary_scaling is None
        and (config.window is None or config.global_every == 2)
        and (config.query_width or 1) % 1 == 0
    )
    if not common or not (llama or gemma):
        raise InvalidProgram("config.model is neither a Llama nor a Gemma 2: it has no weights under their names")
    return "llama" if llama else "gemma2"


def read(folder: Path, config: ModelConfig, target: Any) -> Any:
    """Parameters from a folder of safetensors, one after the other onto `target`'s shapes and shardings."""
    try:
        with _Folder(folder) as tensors:
            params = jax.tree.map(lambda leaf: leaf, target)
            for entry in entries(config):
                leaf = _at(target, entry.path)
                arrays = [entry.form.ours(tensors.get(name), config) for name in entry.names]
                array = np.stack(arrays) if entry.stacked else arrays[0]
                if array.shape != leaf.shape:
                    raise InvalidProgram(f"{folder}: {entry.names[0]} makes {array.shape}, the model has {leaf.shape}")
                array = np.ascontiguousarray(array, np.float32)
                _at(params, entry.path[:-1])[entry.path[-1]] = jax.make_array_from_callback(
                    array.shape, leaf.sharding, array.__getitem__
                )
            return params
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise InvalidProgram(f"{folder}: {error}") from error


def write(folder: Path, config: ModelConfig, params: Any) -> None:
    """A folder that `AutoModelForCausalLM.from_pretrained` loads: config.json and model.safetensors, in float32."""
    tensors: dict[str, np.ndarray] = {}
    for entry in entries(config):
        array = np.asarray(_at(params, entry.path), np.float32)
        for name, part in zip(entry.names, array if entry.stacked else array[None], strict=True):
            tensors[name] = np.ascontiguousarray(entry.form.theirs(part, config))
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / _ALONE, metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(their_config(config), indent=2) + "\n")


def their_config(config: ModelConfig) -> dict[str, Any]:
    """The config.json of such a model."""
    family = family_of(config)
    common = {
        "model_type": family,
        "architectures": ["LlamaForCausalLM" if family == "llama" else "Gemma2ForCausalLM"],
        "vocab_size": config.V,
        "hidden_size": config.D,
        "intermediate_size": config.F,
        "num_hidden_layers": config.L,
        "num_attention_heads": config.H,
        "num_key_value_heads": config.G,
        "head_dim": config.K,
        "max_position_embeddings": config.T,
        "rms_norm_eps": config.norm_epsilon,
        "tie_word_embeddings": config.output is Output.TIED,
        "dtype": "float32",
        "rope_theta": config.rotary_base,
    }
    if family == "gemma2":
        return common | {
            "hidden_activation": "gelu_pytorch_tanh",
            "query_pre_attn_scalar": int(config.query_width or config.K),
            "attn_logit_softcapping": config.attention_cap,
            "final_logit_softcapping": config.logit_cap,
            "sliding_window": config.window or config.T,
        }
    if config.rotary_scaling is None:
        return common | {"hidden_act": "silu"}
    scaling = config.rotary_scaling
    return common | {
        "hidden_act": "silu",
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": scaling.factor,
            "low_freq_factor": scaling.low_frequency,
            "high_freq_factor": scaling.high_frequency,
            "original_max_position_embeddings": scaling.original,
        },
    }


class _Folder:
    """Tensors by name from a folder's one file, or the many that its index lists."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._files = folder, dict[str, Any]()
        index = folder / _INDEX
        self._where = json.loads(index.read_bytes())["weight_map"] if index.exists() else None

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.clear()

    def get(self, name: str) -> np.ndarray:
        file = self._where[name] if self._where else _ALONE
        if file not in self._files:
            self._files[file] = safe_open(self._folder / file, framework="numpy")
        return np.asarray(self._files[file].get_tensor(name), np.float32)


def _at(tree: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        tree = tree[step]
    return tree
