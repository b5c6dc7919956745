"""What a row of a batch is cut from: windows of one long text, or rows packed with documents."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from jobs.train.read import Document

Rows = dict[str, np.ndarray]
"""Like the step's Batch: `tokens` [B, U], for documents `segments` and `learn` too."""
_CHECKED_BYTES = 1 << 23
_SHARED = 1024
"""Rows in which a mixture's weights are kept to."""
_PART, _BLOCKS = 1 << 32, 1 << 62
"""Numbers of permutations: from 0 for epochs, then those of each part's epochs, then those of shared rows."""


Orders = Callable[[int, int], np.ndarray]
"""(number, count) -> the permutation of so many that has this number; none is related to another."""


class Samples(Protocol):
    """What rows of U tokens are taken from."""

    def draw(self, random: np.random.Generator, rows: int) -> Rows:
        """`rows` samples at random, with replacement."""

    def in_epochs(self, orders: Orders, first: int, rows: int) -> Rows:
        """`rows` samples of a run that takes each once per epoch, after `first` that were taken before."""

    def fingerprint(self) -> dict[str, int]:
        """Tells this data from other data."""


class Numbered(ABC):
    """Samples that have numbers."""

    __slots__ = ()

    @property
    @abstractmethod
    def count(self) -> int:
        """How many make an epoch."""

    @abstractmethod
    def take(self, numbers_B: np.ndarray) -> Rows:
        """The samples of these numbers, each below `count`."""

    def in_epochs(self, orders: Orders, first: int, rows: int) -> Rows:
        epochs_B, places_B = np.divmod(np.arange(first, first + rows), self.count)
        shuffled = [orders(int(epoch), self.count)[place] for epoch, place in zip(epochs_B, places_B, strict=True)]
        return self.take(np.array(shuffled, np.int64))


@dataclass(frozen=True, slots=True)
class Windows(Numbered):
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
class Packed(Numbered):
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


@dataclass(frozen=True, slots=True)
class Mixture:
    """Each row from one of several data, as often as their weights say: by chance when drawn, exactly so in every
    _SHARED rows of a run in epochs. A part begins its next epoch when it is through, whatever the others are at."""

    parts: tuple[Samples, ...]
    weights: tuple[float, ...]

    @classmethod
    def evenly(cls, parts: Sequence[Samples]) -> Self | None:
        """All alike; None when there are none."""
        return cls(tuple(parts), (1.0,) * len(parts)) if parts else None

    def draw(self, random: np.random.Generator, rows: int) -> Rows:
        chosen_B = random.choice(len(self.parts), size=rows, p=np.array(self.weights) / sum(self.weights))
        return self._from_parts(chosen_B, lambda part, rows: self.parts[part].draw(random, rows))

    def in_epochs(self, orders: Orders, first: int, rows: int) -> Rows:
        ends = self.shares.cumsum()

        def chosen(block: int) -> np.ndarray:
            return np.searchsorted(ends, orders(_BLOCKS + block, _SHARED), side="right")

        blocks = range(first // _SHARED, (first + rows - 1) // _SHARED + 1)
        chosen_B = np.concatenate([chosen(block) for block in blocks])
        begin = first - blocks.start * _SHARED
        before, chosen_B = chosen_B[:begin], chosen_B[begin : begin + rows]

        def rows_of(part: int, rows: int) -> Rows:
            taken = blocks.start * int(self.shares[part]) + int((before == part).sum())
            return self.parts[part].in_epochs(
                lambda epoch, count: orders(_PART * (part + 1) + epoch, count), taken, rows
            )

        return self._from_parts(chosen_B, rows_of)

    @property
    def shares(self) -> np.ndarray:
        """Rows of each part among _SHARED."""
        ends = np.round(np.cumsum(self.weights) / sum(self.weights) * _SHARED).astype(np.int64)
        return np.diff(ends, prepend=0)

    def fingerprint(self) -> dict[str, int]:
        found = [part.fingerprint() for part in self.parts]
        said = repr([list(each.items()) for each in found] + [self.weights]).encode()
        return {"tokens": sum(each["tokens"] for each in found), "crc32": zlib.crc32(said)}

    def _from_parts(self, chosen_B: np.ndarray, rows_of: Callable[[int, int], Rows]) -> Rows:
        mixed: Rows = {}
        for part in range(len(self.parts)):
            mine_B = chosen_B == part
            for name, rows in rows_of(part, int(mine_B.sum())).items():
                mixed.setdefault(name, np.zeros((len(chosen_B), rows.shape[1]), rows.dtype))[mine_B] = rows
        return mixed
