"""The data: windows of bytes, chosen by seed and step alone.

A batch is a pure function of (text, seed, step) and the position in the data is the step itself, so a resume is exact
on any number of hosts and there is no iterator to save. That is why no loader (grain) is used: bytes in memory need no
workers, and choosing a batch of them takes 0.1 ms.
"""

from __future__ import annotations

import logging
import os
import sysconfig
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from orchestrator.domain.programs.train import TrainConfig
from workers.rank.failure import InvalidProgram

log = logging.getLogger(__name__)
_NOT_THE_LIBRARY = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__"}


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches of T+1 bytes per row: inputs and, one further, targets."""

    text: np.ndarray
    seed: int
    rows: int
    width: int
    crc32: int

    @classmethod
    def of(cls, config: TrainConfig) -> Batches:
        """Read the text. Raises InvalidProgram when a file is not readable or there is too little text."""
        text = read_text(_files(config.data.paths), config.data.max_bytes)
        width = config.model.T + 1
        if len(text) < width:
            raise InvalidProgram(f"{len(text):,} bytes of text are less than one window of T+1 = {width:,}")
        return cls(text, config.seed, config.data.batch, width, zlib.crc32(text))

    def local(self, step: int) -> np.ndarray:
        """The whole batch of `step` (counted from 0) as uint8 [B, T+1]."""
        random = np.random.Generator(np.random.Philox(key=[self.seed, step]))
        starts_B = random.integers(0, len(self.text) - self.width, size=self.rows, endpoint=True)
        return self.text[starts_B[:, None] + np.arange(self.width)[None, :]]

    def on_devices(self, step: int, sharding: NamedSharding) -> jax.Array:
        """The batch of `step` as int32 [B, T+1]; each process hands over only its devices' rows."""
        rows = self.local(step).astype(np.int32)
        return jax.make_array_from_callback(rows.shape, sharding, lambda index: rows[index])

    def position(self, step: int) -> dict[str, Any]:
        """What a checkpoint keeps of the data: where it stands and which text it was."""
        return {"step": step, "seed": self.seed, "text_bytes": len(self.text), "text_crc32": self.crc32}

    def resume(self, position: dict[str, Any], step: int) -> None:
        """Check a restored position. Another text (a new Python, say) may go on but is said, since it is not exact."""
        here = self.position(step)
        if position != here:
            log.warning("not an exact resume: the text differs from the checkpoint's (%s, was %s)", here, position)


def read_text(files: list[Path], max_bytes: int) -> np.ndarray:
    """The files' bytes, joined in this order, up to `max_bytes`, as uint8."""
    parts: list[bytes] = []
    left = max_bytes
    for file in files:
        if left <= 0:
            break
        try:
            with file.open("rb") as stream:
                parts.append(stream.read(left))
        except OSError as error:
            raise InvalidProgram(f"data.paths: {error}") from error
        left -= len(parts[-1])
    return np.frombuffer(b"".join(parts), np.uint8)


def _files(paths: tuple[str, ...]) -> list[Path]:
    if paths:
        return [Path(path) for path in paths]
    found: list[Path] = []
    # Not rglob: it would walk all of site-packages, which takes a second.
    for folder, folders, names in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = [name for name in folders if name not in _NOT_THE_LIBRARY]
        found += [Path(folder, name) for name in names if name.endswith(".py")]
    return sorted(found)
