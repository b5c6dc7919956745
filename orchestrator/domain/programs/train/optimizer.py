"""The optimizer and its schedule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from orchestrator.domain.faults import STRICT, SpecError
from orchestrator.domain.programs.train.checks import fraction, not_negative, positive


class OptimizerKind(Enum):
    """MUON is for the matrices inside the blocks; the other parameters are AdamW's."""

    ADAMW = "adamw"
    ADAFACTOR = "adafactor"
    LION = "lion"
    MUON = "muon"


class Schedule(Enum):
    """After the warm-up: a half cosine, a straight line, or the peak and a line at the end (warm-up, stable, decay)."""

    COSINE = "cosine"
    LINEAR = "linear"
    WSD = "wsd"


class OnNan(Enum):
    """What follows a loss or gradient that is not finite: the run ends, or the step changes nothing and is counted."""

    STOP = "stop"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class OptimizerConfig:
    """Warm-up, decay, and clipping by the global norm."""

    __pydantic_config__ = STRICT

    kind: OptimizerKind = OptimizerKind.ADAMW
    learning_rate: float = 3e-3
    """the peak, reached after the warm-up"""
    schedule: Schedule = Schedule.COSINE
    final_fraction: float = 0.1
    """of the peak, at the end of the decay"""
    warmup_steps: int = 20
    decay_steps: int | None = None
    """length of the whole schedule; None: `steps`. Set it to run a part of a longer schedule."""
    wsd_decay: float = 0.1
    """the part of a `wsd` schedule, at its end, in which the rate falls"""
    weight_decay: float = 0.1
    """of matrices; norms, the only vectors, are left alone"""
    b1: float = 0.9
    b2: float = 0.95
    clip_norm: float = 1.0
    accumulate: int = 1
    """pieces into which a step cuts its batch, one after the other: the memory of one, the gradient of all"""
    on_nan: OnNan = OnNan.STOP

    def __post_init__(self) -> None:
        positive(self, "learning_rate", "clip_norm", "accumulate", "wsd_decay")
        fraction(self, "b1", "b2")
        fraction(self, "final_fraction", "wsd_decay", whole=True)
        not_negative(self, "weight_decay", "warmup_steps")
        if self.decay_steps is not None and self.decay_steps <= self.warmup_steps:
            raise SpecError(
                "decay_steps", f"decay_steps={self.decay_steps} must be more than warmup_steps={self.warmup_steps}"
            )
