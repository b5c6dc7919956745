"""The whole config, and the rules that hold between its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.domain.faults import STRICT, SpecError
from orchestrator.domain.programs.train.checks import not_negative, positive
from orchestrator.domain.programs.train.data import DataConfig, Source, Tokenizer
from orchestrator.domain.programs.train.mesh import MeshConfig
from orchestrator.domain.programs.train.model import ModelConfig
from orchestrator.domain.programs.train.optimizer import OptimizerConfig


@dataclass(frozen=True, slots=True)
class LossConfig:
    """Mean cross entropy of the next token, in nats."""

    __pydantic_config__ = STRICT

    chunks: int = 1
    """pieces of the sequence whose logits exist at a time: a vocabulary of 128,000 is 64 times as wide as D=2,048"""
    z_loss: float = 0.0
    """weight of the squared log of the softmax's sum, which keeps logits from drifting"""

    def __post_init__(self) -> None:
        positive(self, "chunks")
        not_negative(self, "z_loss")


@dataclass(frozen=True, slots=True)
class InitFrom:
    """Where the parameters come from while the job has no commit of its own."""

    __pydantic_config__ = STRICT

    hf: str
    """a folder of safetensors as Hugging Face writes it, of a Llama or Gemma 2 with this model's sizes"""


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """Everything that decides a run. Two runs with equal configs, data and device counts give equal numbers."""

    __pydantic_config__ = STRICT

    seed: int = 0
    steps: int = 400
    checkpoint_every: int = 50
    """steps between saves; the last step is always saved"""
    report_every: int = 5
    """steps between reports of metrics and progress"""
    eval_every: int | None = None
    """steps between evaluations on held-out data; the last step is always evaluated. None: never"""
    eval_batches: int = 20
    init_from: InitFrom | None = None
    """None: drawn from the seed"""
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    mesh: MeshConfig = field(default_factory=MeshConfig)

    def __post_init__(self) -> None:
        positive(self, "steps", "checkpoint_every", "report_every", "eval_every", "eval_batches")
        not_negative(self, "seed")
        if self.schedule_steps <= self.optimizer.warmup_steps:
            raise SpecError("steps", f"steps={self.steps} must be more than warmup_steps={self.optimizer.warmup_steps}")
        if self.model.T % self.loss.chunks:
            raise SpecError("loss.chunks", f"T={self.model.T} is not divisible by chunks={self.loss.chunks}")
        if self.data.batch % self.optimizer.accumulate:
            raise SpecError(
                "optimizer.accumulate",
                f"batch={self.data.batch} is not divisible by accumulate={self.optimizer.accumulate}",
            )
        if self.eval_every is not None and not self.data.holds_out:
            raise SpecError("eval_every", "eval_every needs data.eval_paths or data.eval_fraction")
        if self.data.source is not Source.TOKENS and self.data.tokenizer is Tokenizer.BYTES and self.model.V < 256:
            raise SpecError("model.V", f"V={self.model.V} is less than the 256 that tokenizer=bytes makes")

    @property
    def schedule_steps(self) -> int:
        """Steps after which the learning rate has decayed."""
        return self.optimizer.decay_steps or self.steps
