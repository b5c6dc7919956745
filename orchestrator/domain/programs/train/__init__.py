"""The config of the built-in program `train`: a decoder-only Transformer. Checked at birth.

Defaults are the preset `tiny`. Types are the reader's business; the rules here are those that types cannot say, and
each raises `SpecError` with the field's path.
"""

from orchestrator.domain.programs.train.config import LossConfig, TrainConfig
from orchestrator.domain.programs.train.data import DataConfig, Order, Part, Source, Tokenizer
from orchestrator.domain.programs.train.mesh import MeshConfig
from orchestrator.domain.programs.train.model import (
    AttentionKind,
    Compute,
    FeedForwardKind,
    Layers,
    ModelConfig,
    NormAt,
    NormKind,
    Output,
    Positions,
    Remat,
    RotaryScaling,
)
from orchestrator.domain.programs.train.optimizer import OnNan, OptimizerConfig, OptimizerKind, Schedule
from orchestrator.domain.programs.train.start import InitFrom, LoraConfig

__all__ = [
    "AttentionKind",
    "Compute",
    "DataConfig",
    "FeedForwardKind",
    "InitFrom",
    "Layers",
    "LoraConfig",
    "LossConfig",
    "MeshConfig",
    "ModelConfig",
    "NormAt",
    "NormKind",
    "OnNan",
    "OptimizerConfig",
    "OptimizerKind",
    "Order",
    "Output",
    "Part",
    "Positions",
    "Remat",
    "RotaryScaling",
    "Schedule",
    "Source",
    "Tokenizer",
    "TrainConfig",
]
