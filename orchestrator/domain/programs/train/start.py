"""Where a run's weights come from, and how few of them it may train."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.domain.faults import STRICT, SpecError
from orchestrator.domain.programs.train.checks import positive


@dataclass(frozen=True, slots=True)
class InitFrom:
    """Where the parameters come from while the job has no commit of its own; the optimizer is fresh. One of the two."""

    __pydantic_config__ = STRICT

    hf: str | None = None
    """a folder of safetensors as Hugging Face writes it, of a Llama or Gemma 2 with this model's sizes"""
    checkpoint: str | None = None
    """`<job id>/<attempt>/<step>`: a committed step of another job whose model has these sizes"""

    def __post_init__(self) -> None:
        if (self.hf is None) == (self.checkpoint is None):
            raise SpecError("", "give either hf or checkpoint, not both and not none")
        if self.checkpoint is not None and not re.fullmatch(r"[a-z0-9_]+(/\d{1,9}){2}", self.checkpoint):
            raise SpecError("checkpoint", f"write <job id>/<attempt>/<step>, got {self.checkpoint[:80]!r}")


@dataclass(frozen=True, slots=True)
class LoraConfig:
    """Low-rank adaptation (Hu et al. 2021): every matrix of the blocks keeps its weights W and learns A and B of
    W + scale x A B. Only A, B and their optimizer are trained and saved."""

    __pydantic_config__ = STRICT

    rank: int = 8
    """columns of A and rows of B"""
    scale: float = 2.0
    """alpha / rank, as others write it"""

    def __post_init__(self) -> None:
        positive(self, "rank", "scale")
