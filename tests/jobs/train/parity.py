"""What Hugging Face's Llama and Gemma 2 compute, for comparison. Run by an interpreter that has torch and transformers:

python tests/jobs/train/parity.py golden         writes the arrays that tests compare with
python tests/jobs/train/parity.py logits FOLDER  prints the logits of the model in FOLDER as JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

FILE = "parity_{}.npz"
SIZES = {
    "vocab_size": 24, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 4, "max_position_embeddings": 12, "rms_norm_eps": 1e-5,
}  # fmt: skip
TOKENS = np.random.default_rng(0).integers(0, 24, (2, 13))


def weights_of(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Random weights by name and order; norms too, which begin as ones and would hide a mistake."""
    random = np.random.default_rng(1)
    return {name: (random.standard_normal(shape) * 0.3).astype(np.float32) for name, shape in sorted(shapes.items())}


def _model(family: str):  # type: ignore[no-untyped-def]
    from transformers import Gemma2Config, Gemma2ForCausalLM, LlamaConfig, LlamaForCausalLM

    if family == "llama":
        scaling = {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8,
        }  # fmt: skip
        return LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=False, rope_theta=1e4, rope_scaling=scaling))
    caps = {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0, "attn_implementation": "eager"}
    # Without a token for padding, whose embedding would get no gradient.
    shape = {
        "pad_token_id": None,
        "tie_word_embeddings": True,
        "rope_theta": 1e4,
        "sliding_window": 4,
        "query_pre_attn_scalar": 10,
    }
    return Gemma2ForCausalLM(Gemma2Config(**SIZES, **shape, **caps))


def _golden(family: str) -> None:
    import torch

    model = _model(family).eval()
    params = dict(model.named_parameters())
    weights = weights_of({name: tuple(param.shape) for name, param in params.items()})
    with torch.no_grad():
        for name, param in params.items():
            param.copy_(torch.from_numpy(weights[name]))
    tokens = torch.from_numpy(TOKENS)
    logits = model(tokens[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))
    loss.backward()
    grads = {f"grad/{name}": param.grad.numpy() for name, param in params.items()}
    file = Path(__file__).with_name(FILE.format(family))
    np.savez_compressed(file, logits=logits.detach().numpy(), loss=loss.item(), **grads)


def _logits(folder: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    with torch.no_grad():
        sys.stdout.write(json.dumps(model(torch.from_numpy(TOKENS[:, :-1])).logits.tolist()))


if __name__ == "__main__":
    if sys.argv[1:] == ["golden"]:
        for each in ("llama", "gemma2"):
            _golden(each)
    else:
        _logits(sys.argv[2])
