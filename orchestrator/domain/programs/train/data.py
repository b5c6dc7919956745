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
    PARQUET = "parquet"
    """rows with these columns"""
    ARRAY_RECORD = "array_record"
    """records that hold what a line of JSONL does"""


class Tokenizer(Enum):
    BYTES = "bytes"
    CHARACTERS = "characters"
    """of the text itself, in the order of their code points (nanoGPT's character level)"""
    HF = "hf"
    """as `tokenizer_path` says"""


class Order(Enum):
    """How windows are drawn from a text or token file."""

    RANDOM = "random"
    """anywhere, with replacement"""
    EPOCHS = "epochs"
    """each window once per epoch, in an order drawn anew for each"""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the data that a mixture takes from."""

    __pydantic_config__ = STRICT

    paths: tuple[str, ...]
    weight: float = 1.0
    """of its rows among all rows, beside the other weights"""

    def __post_init__(self) -> None:
        positive(self, "weight")
        if not self.paths:
            raise SpecError("paths", "a part of a mixture needs paths")


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Files and batches."""

    __pydantic_config__ = STRICT

    batch: int = 16
    """sequences per step, over all devices"""
    paths: tuple[str, ...] = ()
    """files, local or `gs://…`; without any, the source files of Python's own standard library as text"""
    mixture: tuple[Part, ...] = ()
    """in place of `paths`: several data of the same kind, each row of a batch from one of them"""
    max_bytes: int = 8_000_000
    """of text that is read at most"""
    source: Source = Source.TEXT
    tokenizer: Tokenizer = Tokenizer.BYTES
    tokenizer_path: str | None = None
    """a tokenizer.json as Hugging Face writes it, or the folder of one, for tokenizer=hf"""
    end_token: str | None = None
    """the token of that tokenizer that ends a document"""
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
        if self.paths and self.mixture:
            raise SpecError("mixture", "give paths or mixture, not both")
        if self.source is not Source.TEXT and not self.all_paths:
            raise SpecError("paths", f"source={self.source.value} needs paths")
        if (self.tokenizer is Tokenizer.HF) != (self.tokenizer_path is not None):
            raise SpecError("tokenizer_path", "tokenizer=hf and tokenizer_path need each other")
        if self.tokenizer is Tokenizer.HF and self.holds_documents and self.end_token is None:
            raise SpecError("end_token", f"source={self.source.value} with tokenizer=hf needs the token that ends each")
        if self.tokenizer is Tokenizer.CHARACTERS and self.mixture:
            raise SpecError("tokenizer", "tokenizer=characters numbers those of one text: it takes no mixture")
        if self.tokenizer is Tokenizer.CHARACTERS and self.source is not Source.TEXT:
            raise SpecError("tokenizer", "tokenizer=characters needs source=text, whose characters it numbers")

    @property
    def all_paths(self) -> tuple[str, ...]:
        """All files to train on."""
        return self.paths or tuple(path for part in self.mixture for path in part.paths)

    @property
    def holds_documents(self) -> bool:
        """Whether the files hold documents, of which several share a row, and not one long text."""
        return self.source in (Source.JSONL, Source.PARQUET, Source.ARRAY_RECORD)

    @property
    def holds_out(self) -> bool:
        """Whether there is data to evaluate on."""
        return bool(self.eval_paths) or self.eval_fraction > 0
