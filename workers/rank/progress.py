"""The spool: a rank's reports as JSON lines in a file, from where its agent takes them to the control plane.

Append-only. One record is one `os.write` to a descriptor opened with O_APPEND, so records of several threads and
processes never mix, and what was written survives the death of this process.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

MAX_LINE_BYTES = 64 * 1024
MAX_MESSAGE_CHARACTERS = 2_000
_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
PHASES = frozenset({"init", "join", "compile", "restore", "train", "eval", "checkpoint"})


def wall_ms() -> int:
    """Wall-clock milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Spool:
    """A file of JSON lines; without a path every record is dropped (a program outside Podwright)."""

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        if path is not None:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, record: Mapping[str, object]) -> None:
        """Append one record. Raises ValueError when its line would reach 64 KiB, OSError when the disk refuses it."""
        if self._descriptor is None:
            return
        line = json.dumps(_strict(record), allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if len(line) >= MAX_LINE_BYTES:
            raise ValueError(f"a {record.get('type')} record of {len(line):,} bytes exceeds {MAX_LINE_BYTES:,}")
        with self._lock:
            written = os.write(self._descriptor, line)
        if written != len(line):
            raise OSError(f"the spool took {written} of {len(line)} bytes: the disk is full")


class Reporter:
    """Writes one rank's records. Thread-safe. `now_ms` stamps them."""

    def __init__(self, spool: Spool, rank: int, now_ms: Callable[[], int] = wall_ms) -> None:
        self._spool, self.rank, self.now_ms = spool, rank, now_ms

    def phase(self, name: str) -> None:
        """The rank enters this phase and leaves the one before."""
        if name not in PHASES:
            raise ValueError(f"{name!r} is not a phase: {', '.join(sorted(PHASES))}")
        self._write("phase", phase=name)

    def progress(self, step: int, total_steps: int | None) -> None:
        """`step` steps are complete, of `total_steps` if that is known."""
        self._write("progress", step=step, total_steps=total_steps)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Values measured at completed step `step`; only rank 0 writes them, so that each exists once."""
        if self.rank == 0:
            self._write("metrics", step=step, values=dict(values))

    def own(self, step: int, values: Mapping[str, float]) -> None:
        """Values that each rank measures of itself, such as its times; kept by rank."""
        self._write("metrics", step=step, values=dict(values))

    def committed(
        self, *, step: int, step_at_ms: int, path: str, size_bytes: int, save_ms: int, blocked_ms: int
    ) -> None:
        """`path` is committed. The loop completed `step` at `step_at_ms`; the save took `save_ms`, of which it blocked
        the loop for `blocked_ms`."""
        self._write(
            "checkpoint", event="committed", step=step, step_at_ms=step_at_ms, path=path,
            bytes=size_bytes, save_ms=save_ms, blocked_ms=blocked_ms,
        )  # fmt: skip

    def restored(self, step: int, path: str, source_job_id: str | None = None) -> None:
        """The attempt goes on from `path`, of another job if this one continues it; written before the restoring
        begins, so that it is known if that fails."""
        source = {} if source_job_id is None else {"source_job_id": source_job_id}
        self._write("checkpoint", event="restored", step=step, path=path, **source)

    def fresh(self) -> None:
        """No step was ever committed: the attempt begins at step 0."""
        self._write("checkpoint", event="fresh", step=0)

    def quarantined(self, step: int, path: str, message: str) -> None:
        """`path` is damaged and an older step is used."""
        self._write("checkpoint", event="quarantined", step=step, path=path, message=message[:MAX_MESSAGE_CHARACTERS])

    def save_failed(self, step: int, message: str, save_ms: int, blocked_ms: int) -> None:
        """The save of `step` did not become a commit; training goes on, and the next one is tried."""
        self._write(
            "checkpoint", event="save_failed", step=step, message=message[:MAX_MESSAGE_CHARACTERS],
            save_ms=save_ms, blocked_ms=blocked_ms,
        )  # fmt: skip

    def notice(self, step: int, message: str) -> None:
        """The attempt leaves at `step` because of a notice; whether it saves before that, and why."""
        self._write("checkpoint", event="notice", step=step, message=message)

    def storage_trouble(self, message: str) -> None:
        """The checkpoints' storage failed, and is tried again."""
        self._write("checkpoint", event="trouble", step=0, message=message[:MAX_MESSAGE_CHARACTERS])

    def event(self, kind: str, message: str, step: int | None = None) -> None:
        """Something for the job's history. `kind` is a stable word of a-z, 0-9 and _; `message` a sentence."""
        if not _KIND.fullmatch(kind):
            raise ValueError(f"{kind!r} is no kind of event: at most 40 of a-z, 0-9 and _, beginning with a letter")
        self._write("event", kind=kind, message=message[:MAX_MESSAGE_CHARACTERS] or kind, step=step)

    def failure(self, reason: str, message: str) -> None:
        """This rank is about to exit non-zero."""
        self._write("failure", reason=reason, message=message[:MAX_MESSAGE_CHARACTERS])

    def _write(self, type_: str, **fields: object) -> None:
        self._spool.write({"type": type_, "at_ms": self.now_ms(), **fields})


def _strict(value: object) -> object:
    """`value` with numbers that JSON lacks as strings, and numpy's scalars as Python's."""
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, bool | str | int) or value is None:
        return value
    number = float(value)  # type: ignore[arg-type]  # anything else must behave like a number, or raises TypeError
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number
