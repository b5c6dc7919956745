"""The data: batches chosen by seed and step alone.

A batch is a pure function of (data, seed, step) and the position in the data is the step itself, so a resume is exact
on any number of hosts and there is no iterator to save. That is why no loader (grain) is used: importing it takes
longer (seconds) than reading the text, and rows cut from memory or a memory map need no workers, but one thread that
keeps ahead of the step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Self

import jax
import numpy as np
from jax.sharding import NamedSharding

from jobs.train.read import as_characters, encoder_of, read_documents, read_text, read_tokens
from jobs.train.samples import Mixture, Packed, Rows, Samples, Windows
from orchestrator.domain.programs.train import Order, Source, Tokenizer, TrainConfig
from workers.rank.failure import InvalidProgram

log = logging.getLogger(__name__)
Both = tuple[Samples, Samples | None]
"""To learn from, and held out."""
_AHEAD = 2
_HELD_OUT_SEED = 1 << 63
"""Added to the seed: held-out batches are drawn apart from, and whatever the number of, those of the training."""


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches of T+1 tokens per row: inputs and, one further, targets."""

    samples: Samples
    seed: int
    rows: int
    width: int
    order: Order = Order.RANDOM

    def local(self, step: int) -> Rows:
        """The whole batch of `step` (counted from 0)."""
        if self.order is Order.RANDOM:
            return self.samples.draw(_random(self.seed, step), self.rows)
        return self.samples.in_epochs(partial(_permutation, self.seed), step * self.rows, self.rows)

    def on_devices(self, step: int, sharding: NamedSharding) -> dict[str, jax.Array]:
        """The batch of `step`; each process hands over only its devices' rows."""
        return {
            name: jax.make_array_from_callback(rows.shape, sharding, rows.__getitem__)
            for name, rows in self.local(step).items()
        }

    def shapes(self, sharding: NamedSharding) -> dict[str, jax.ShapeDtypeStruct]:
        """What every batch looks like: nothing is ever compiled for a second shape."""
        return {
            name: jax.ShapeDtypeStruct(rows.shape, rows.dtype, sharding=sharding)
            for name, rows in self.local(0).items()
        }

    def position(self, step: int) -> dict[str, Any]:
        """What a checkpoint keeps of the data: where it stands and which data it was."""
        return {"step": step, "seed": self.seed, **self.samples.fingerprint()}

    def resume(self, position: dict[str, Any], step: int) -> None:
        """Check a restored position. Other data (a new Python, say) may go on but is said, since it is not exact."""
        here = self.position(step)
        if position != here:
            log.warning("not an exact resume: the data differs from the checkpoint's (%s, was %s)", here, position)


@dataclass(frozen=True, slots=True)
class Data:
    """What to train on, and what is held out to evaluate on."""

    train: Batches
    held_out: Batches | None

    @classmethod
    def of(cls, config: TrainConfig) -> Self:
        """Read the files. Raises InvalidProgram when one is not readable, or there is too little in them."""
        data, width = config.data, config.model.T + 1
        read = _SOURCES[data.source]
        parts = [read(config, part.paths, width) for part in data.mixture] or [read(config, data.paths, width)]
        learned, held = _mixed(parts, config) if data.mixture else parts[0]
        train = Batches(learned, config.seed, data.batch, width, data.order)
        seed = config.seed % _HELD_OUT_SEED + _HELD_OUT_SEED
        return cls(train, held and replace(train, samples=held, seed=seed, order=Order.RANDOM))


class Ahead:
    """Makes the next batches in a thread while a step runs. Steps must be asked for in order."""

    def __init__(self, make: Callable[[int], Any], last: int) -> None:
        self._make, self._last = make, last
        self._pool, self._pending = ThreadPoolExecutor(1, "data"), dict[int, Future[Any]]()

    def take(self, step: int) -> Any:
        """The batch of `step`; waits for it if it is not there yet."""
        for number in range(step, min(step + _AHEAD, self._last) + 1):
            if number not in self._pending:
                self._pending[number] = self._pool.submit(self._make, number)
        return self._pending.pop(step).result()

    def close(self) -> None:
        """Drop what was made ahead."""
        self._pool.shutdown(wait=True, cancel_futures=True)


@lru_cache(maxsize=32)
def _permutation(seed: int, number: int, count: int) -> np.ndarray:
    # The first word tells it from the batches drawn at random; 4 bytes a window, 1 GB for 10^12 tokens at T=4,096.
    return _random(seed ^ _HELD_OUT_SEED, number).permutation(np.arange(count, dtype=np.uint32))


def _random(seed: int, number: int) -> np.random.Generator:
    # As an array of its type: numpy would make floats of a list that holds 2^63, and one seed of many.
    return np.random.Generator(np.random.Philox(key=np.array([seed, number], np.uint64)))


def _text(config: TrainConfig, paths: Sequence[str], width: int) -> Both:
    data = config.data
    text, rest = read_text(paths, data.max_bytes), b""
    if data.eval_paths:
        rest = read_text(data.eval_paths, data.max_bytes)
    if data.tokenizer is not Tokenizer.CHARACTERS:
        encoder = encoder_of(data, config.model.V)
        return _windows(config, encoder.encode(text), encoder.encode(rest), width)
    both, characters = as_characters(text + rest, config.model.V)
    cut = len(text.decode())
    log.info("%d characters: %r", len(characters), characters)
    return _windows(config, both[:cut], both[cut:], width)


def _tokens(config: TrainConfig, paths: Sequence[str], width: int) -> Both:
    held, V = config.data.eval_paths, config.model.V
    rest = read_tokens(held, V) if held else np.zeros(0, np.uint16)
    return _windows(config, read_tokens(paths, V), rest, width)


def _windows(config: TrainConfig, tokens: np.ndarray, rest: np.ndarray, width: int) -> Both:
    if config.data.eval_fraction:
        cut = int(len(tokens) * (1 - config.data.eval_fraction))
        tokens, rest = tokens[:cut], tokens[cut:]
    for part, name in ((tokens, ""), (rest, " held out")):
        if len(part) < width and (part is tokens or config.data.holds_out):
            raise InvalidProgram(f"{len(part):,} tokens{name} are less than one window of T+1 = {width:,}")
    return Windows(tokens, width), Windows(rest, width) if config.data.holds_out else None


def _documents(config: TrainConfig, paths: Sequence[str], width: int) -> Both:
    data, encoder = config.data, encoder_of(config.data, config.model.V)
    if encoder.end >= config.model.V:
        raise InvalidProgram(f"model.V={config.model.V} has no room for token {encoder.end}, the end of a document")
    documents, rest = (read_documents(data, given, encoder) for given in (paths, data.eval_paths))
    if data.eval_fraction:
        cut = int(len(documents) * (1 - data.eval_fraction))
        documents, rest = documents[:cut], documents[cut:]
    if not documents or (data.holds_out and not rest):
        raise InvalidProgram("data: there are no documents to learn from, or none to hold out")
    return Packed.of(documents, width), Packed.of(rest, width) if rest else None


def _mixed(parts: Sequence[Both], config: TrainConfig) -> Both:
    weights = tuple(part.weight for part in config.data.mixture)
    held = [held for _, held in parts if held is not None]
    if config.data.eval_paths:
        held = held[:1]  # every part has read the same
    mixture = Mixture(tuple(learned for learned, _ in parts), weights)
    if not mixture.shares.all():
        raise InvalidProgram("data.mixture: a weight is less than a thousandth of all")
    return mixture, Mixture.evenly(held)


_SOURCES = {
    Source.TEXT: _text,
    Source.TOKENS: _tokens,
    Source.JSONL: _documents,
    Source.PARQUET: _documents,
    Source.ARRAY_RECORD: _documents,
}
