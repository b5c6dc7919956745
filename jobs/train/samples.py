"""What a row of a batch is cut from: windows of one long text, or rows packed with documents."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from jobs.train.read import Document

Rows = dict[str, np.ndarray]
"""Like the step's Batch: `tokens` [B, U], for documents `segments` and `learn` too."""
_CHECKED_BYTES = 1 << 23


class Samples(Protocol):
    """Rows of U tokens by number."""

    @property
    def count(self) -> int:
        """How many make an epoch."""

    def take(self, numbers_B: np.ndarray) -> Rows:
        """The samples of these numbers, each below `count`."""

    def draw(self, random: np.random.Generator, rows: int) -> Rows:
        """`rows` samples at random, with replacement."""

    def fingerprint(self) -> dict[str, int]:
        """Tells this data from other data."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one long text. In an epoch they lie side by side, and each next begins with the last token before."""

    tokens: np.ndarray
    width: int

    @property
    def count(self) -> int:
        return (len(self.tokens) - 1) // (self.width - 1)

    def take(self, numbers_B: np.ndarray) -> Rows:
        return self._at(numbers_B * (self.width - 1))

    def draw(self, random: np.random.Generator, rows: int) -> Rows:
        return self._at(random.integers(0, len(self.tokens) - self.width, size=rows, endpoint=True))

    def fingerprint(self) -> dict[str, int]:
        """By length and contents; of a memory map that is large, by the contents of both ends."""
        part = _CHECKED_BYTES // self.tokens.itemsize
        ends = (self.tokens,) if len(self.tokens) <= 2 * part else (self.tokens[:part], self.tokens[-part:])
        checksum = 0
        for end in ends:
            checksum = zlib.crc32(np.ascontiguousarray(end), checksum)
        return {"tokens": len(self.tokens), "crc32": checksum}

    def _at(self, starts_B: np.ndarray) -> Rows:
        return {"tokens": self.tokens[starts_B[:, None] + np.arange(self.width)[None, :]].astype(np.int32)}


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows [N, U] filled with documents one after the other. Segments count from 1; 0 is padding."""

    tokens: np.ndarray
    segments: np.ndarray
    learn: np.ndarray

    @classmethod
    def of(cls, documents: list[Document], width: int) -> Packed:
        """In their order, each into the open row or, where it does not fit, into a new one. A document longer than a
        row goes on in the next, as a segment of its own."""
        pieces = [
            (tokens[start : start + width], max(0, given - start))
            for tokens, given in documents
            for start in range(0, len(tokens), width)
        ]
        places, row, used = [], 0, 0
        for tokens, _ in pieces:
            if used + len(tokens) > width:
                row, used = row + 1, 0
            places.append((row, used))
            used += len(tokens)
        shape = (row + 1, width)
        packed = cls(np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, bool))
        segment = 0
        for (tokens, given), (row, begin) in zip(pieces, places, strict=True):
            segment = segment + 1 if begin else 1
            end = begin + len(tokens)
            packed.tokens[row, begin:end] = tokens
            packed.segments[row, begin:end] = segment
            # The first token of a segment is nobody's target.
            packed.learn[row, begin + max(given, 1) : end] = True
        return packed

    @property
    def count(self) -> int:
        return len(self.tokens)

    def take(self, numbers_B: np.ndarray) -> Rows:
        return {name: getattr(self, name)[numbers_B] for name in ("tokens", "segments", "learn")}

    def draw(self, random: np.random.Generator, rows: int) -> Rows:
        return self.take(random.integers(0, self.count, size=rows))

    def fingerprint(self) -> dict[str, int]:
        return {"tokens": int((self.segments > 0).sum()), "crc32": zlib.crc32(self.tokens)}
