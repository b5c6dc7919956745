"""The session's one emulated Ray cluster: two slices `v5e:2x4`, whose lost hosts come back a second later."""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Emulated:
    """Where the cluster is, and which process stands for which host."""

    state_dir: Path
    process: psutil.Popen

    @property
    def cluster_file(self) -> Path:
        return self.state_dir / "cluster.json"

    def host(self, slice_id: str, host: int) -> dict[str, Any]:
        hosts = json.loads(self.cluster_file.read_text())["hosts"]
        return next(h for h in hosts if (h["slice"], h["host"]) == (slice_id, host))


@contextmanager
def emulated_cluster(state_dir: Path) -> Iterator[Emulated]:
    """Start it, wait until all nodes answer, and end it so that no process of it is left."""
    with (state_dir / "emulator.log").open("wb") as log:
        command = [sys.executable, "-m", "workers.cluster.providers.emulated"]
        options = ["--state-dir", str(state_dir), "--slices", "v5e:2x4", "--count", "2", "--replace-after", "1"]
        emulator = psutil.Popen([*command, *options], stdout=log, stderr=log, start_new_session=True)
    emulated = Emulated(state_dir, emulator)
    try:
        until(lambda: emulated.cluster_file.exists() or emulator.poll() is not None or None, "Ray is up", 170)
        assert emulator.poll() is None, (state_dir / "emulator.log").read_text()
        yield emulated
    finally:
        started = emulator.children(recursive=True) if emulator.poll() is None else []
        end(emulator)
        until(lambda: not any(map(runs, started)) or None, "no process of the cluster is left", 20)


def end(process: psutil.Popen) -> None:
    """SIGTERM, and wait until it is gone."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def until(look: Callable[[], T | None], what: str, timeout_s: float = 60.0) -> T:
    """The first answer of `look` that is not None."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if (found := look()) is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {timeout_s} s: {what}")


def runs(process: psutil.Process) -> bool:
    """Whether the process executes; a zombie does not."""
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
