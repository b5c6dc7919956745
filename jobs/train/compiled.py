"""The compiled step: one program for one shape of batch, and no silence about a second one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import jax

from jobs.train.step import Batch, Metrics, State

log = logging.getLogger(__name__)
_Shapes = tuple[tuple[str, tuple[int, ...], str], ...]


class Compiled:
    """Runs `compile(batch)`'s program for the batch at hand. Batches have one shape by design: should another come, it
    is compiled for, which stops the gang for minutes on a large model, and the log names what changed."""

    def __init__(self, compile: Callable[[Any], Callable[[State, Batch], tuple[State, Metrics]]], batch: Any) -> None:
        self._compile, self._first = compile, _shapes(batch)
        self._programs = {self._first: self._timed(batch)}

    @property
    def programs(self) -> int:
        """How many were compiled."""
        return len(self._programs)

    def __call__(self, state: State, batch: Batch) -> tuple[State, Metrics]:
        shapes = _shapes(batch)
        if shapes not in self._programs:
            log.warning("compiling again: %s", "; ".join(_differences(self._first, shapes)))
            self._programs[shapes] = self._timed(batch)
        return self._programs[shapes](state, batch)

    def _timed(self, batch: Any) -> Callable[[State, Batch], tuple[State, Metrics]]:
        begun = time.monotonic()
        program = self._compile(jax.tree.map(_described, batch))
        log.info("compiled in %.1f s", time.monotonic() - begun)
        return program


def _shapes(batch: Any) -> _Shapes:
    return tuple((name, tuple(array.shape), str(array.dtype)) for name, array in sorted(batch.items()))


def _differences(before: _Shapes, after: _Shapes) -> list[str]:
    was, now = ({name: f"{dtype}{list(shape)}" for name, shape, dtype in shapes} for shapes in (before, after))
    names = sorted(was.keys() | now.keys())
    return [
        f"batch[{name!r}] is {now.get(name)}, was {was.get(name)}" for name in names if was.get(name) != now.get(name)
    ]


def _described(array: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=array.sharding)
