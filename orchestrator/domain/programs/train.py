"""The config of the built-in program `train`: a decoder-only Transformer over bytes of text. Checked at birth.

Defaults are the preset `tiny`. Types are the reader's business; the rules here are those that types cannot say, and
each raises `SpecError` with the field's path.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

from orchestrator.domain.spec import STRICT, SpecError

BYTES = 256
"""Size of the vocabulary: text is trained on byte by byte."""


class Compute(Enum):
    """The number type of activations; parameters and optimizer are always float32."""

    AUTO = "auto"
    """bfloat16 where the hardware has it, float32 on CPU, which gains nothing from bfloat16."""
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Sizes of the Transformer; the letters are those of the code's array names."""

    __pydantic_config__ = STRICT

    T: int = 64
    """tokens of context"""
    D: int = 96
    """width of the model"""
    H: int = 4
    """attention heads"""
    L: int = 2
    """blocks"""
    F: int = 384
    """width of the feed-forward layer"""
    compute: Compute = Compute.AUTO

    def __post_init__(self) -> None:
        _positive(self, "T", "D", "H", "L", "F")
        if self.D % self.H:
            raise SpecError("D", f"D={self.D} is not divisible by H={self.H}")
        if self.K % 2:
            raise SpecError(
                "D", f"D={self.D} over H={self.H} heads is {self.K} wide: rotary positions need an even width"
            )

    @property
    def K(self) -> int:  # noqa: N802  # a size letter like the others
        """Width of one head."""
        return self.D // self.H


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Which text, and how much of it a step takes."""

    __pydantic_config__ = STRICT

    batch: int = 16
    """sequences per step, over all devices"""
    paths: tuple[str, ...] = ()
    """text files; without any, the source files of Python's own standard library"""
    max_bytes: int = 8_000_000

    def __post_init__(self) -> None:
        _positive(self, "batch", "max_bytes")


@dataclass(frozen=True, slots=True)
class OptimizerConfig:
    """AdamW with warm-up, cosine decay and clipping by the global norm."""

    __pydantic_config__ = STRICT

    learning_rate: float = 3e-3
    """the peak, reached after the warm-up"""
    final_fraction: float = 0.1
    """of the peak, at the end of the decay"""
    warmup_steps: int = 20
    decay_steps: int | None = None
    """length of the whole schedule; None: `steps`. Set it to run a part of a longer schedule."""
    weight_decay: float = 0.1
    b1: float = 0.9
    b2: float = 0.95
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        _positive(self, "learning_rate", "clip_norm")
        for name in ("b1", "b2"):
            if not 0 <= getattr(self, name) < 1:
                raise SpecError(name, f"{name}={getattr(self, name)} is not within 0 and 1")
        if not 0 <= self.final_fraction <= 1:
            raise SpecError("final_fraction", f"final_fraction={self.final_fraction} is not within 0 and 1")
        for name in ("weight_decay", "warmup_steps"):
            if not getattr(self, name) >= 0:
                raise SpecError(name, f"{name}={getattr(self, name)} must not be negative")
        if self.decay_steps is not None and self.decay_steps <= self.warmup_steps:
            raise SpecError(
                "decay_steps", f"decay_steps={self.decay_steps} must be more than warmup_steps={self.warmup_steps}"
            )


@dataclass(frozen=True, slots=True)
class MeshConfig:
    """Devices per mesh axis; `fsdp` None takes all that the other two leave."""

    __pydantic_config__ = STRICT

    data: int = 1
    fsdp: int | None = None
    tensor: int = 1

    def __post_init__(self) -> None:
        _positive(self, "data", "tensor")
        if self.fsdp is not None:
            _positive(self, "fsdp")

    def shape(self, device_count: int) -> tuple[int, int, int]:
        """(data, fsdp, tensor) over `device_count` devices. Raises ValueError when they do not multiply to it."""
        fsdp = self.fsdp or max(1, device_count // (self.data * self.tensor))
        if self.data * fsdp * self.tensor != device_count:
            raise ValueError(
                f"a mesh of data={self.data} x fsdp={fsdp} x tensor={self.tensor} does not use {device_count} devices"
            )
        return self.data, fsdp, self.tensor


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """Everything that decides a run. Two runs with equal configs, text and device counts give equal numbers."""

    __pydantic_config__ = STRICT

    seed: int = 0
    steps: int = 400
    checkpoint_every: int = 50
    """steps between saves; the last step is always saved"""
    report_every: int = 5
    """steps between reports of metrics and progress"""
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    mesh: MeshConfig = field(default_factory=MeshConfig)

    def __post_init__(self) -> None:
        _positive(self, "steps", "checkpoint_every", "report_every")
        if self.seed < 0:
            raise SpecError("seed", f"seed={self.seed} must not be negative")
        if self.schedule_steps <= self.optimizer.warmup_steps:
            raise SpecError("steps", f"steps={self.steps} must be more than warmup_steps={self.optimizer.warmup_steps}")

    @property
    def schedule_steps(self) -> int:
        """Steps after which the learning rate has decayed."""
        return self.optimizer.decay_steps or self.steps


def _positive(config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if not value > 0 or math.isinf(value):
            raise SpecError(name, f"{name}={value} must be more than 0")
