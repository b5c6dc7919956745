"""Which data, how it becomes tokens, and how much of it a step takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from orchestrator.domain.faults import STRICT, SpecError
from orchestrator.domain.programs.train.checks import fraction, positive


class Source(Enum):
    """What the files are."""

    TEXT = "text"
    """text, joined in the order of the paths"""
    TOKENS = "tokens"
    """token numbers, read by memory map: uint16, little-endian (nanoGPT's `.bin`), or uint32 when V is above 65,536"""
    JSONL = "jsonl"
    """one object a line: `text`, or `prompt` and `response`, of which only the response is learned"""


class Tokenizer(Enum):
    BYTES = "bytes"
    CHARACTERS = "characters"
    """of the text itself, in the order of their code points (nanoGPT's character level)"""


class Order(Enum):
    """How windows are drawn from a text or token file."""

    RANDOM = "random"
    """anywhere, with replacement"""
    EPOCHS = "epochs"
    """each window once per epoch, in an order drawn anew for each"""


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Files and batches."""

    __pydantic_config__ = STRICT

    batch: int = 16
    """sequences per step, over all devices"""
    paths: tuple[str, ...] = ()
    """files; without any, the source files of Python's own standard library as text"""
    max_bytes: int = 8_000_000
    """of text that is read at most"""
    source: Source = Source.TEXT
    tokenizer: Tokenizer = Tokenizer.BYTES
    order: Order = Order.RANDOM
    eval_paths: tuple[str, ...] = ()
    """files of the same kind to evaluate on"""
    eval_fraction: float = 0.0
    """without `eval_paths`: the part at the end of the data that is held out"""

    def __post_init__(self) -> None:
        positive(self, "batch", "max_bytes")
        fraction(self, "eval_fraction")
        if self.eval_paths and self.eval_fraction:
            raise SpecError("eval_fraction", "give eval_paths or eval_fraction, not both")
        if self.source is not Source.TEXT and not self.paths:
            raise SpecError("paths", f"source={self.source.value} needs paths")
        if self.tokenizer is Tokenizer.CHARACTERS and self.source is not Source.TEXT:
            raise SpecError("tokenizer", "tokenizer=characters needs source=text, whose characters it numbers")

    @property
    def holds_out(self) -> bool:
        """Whether there is data to evaluate on."""
        return bool(self.eval_paths) or self.eval_fraction > 0
