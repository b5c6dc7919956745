"""`gang`: real ranks as processes, joined by the real jax.distributed, on emulated hosts of four CPU devices."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import pytest

from workers.host import notice

# Before any backend starts. Not by XLA_FLAGS, which every process that another test starts would inherit.
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 8)
# Compiling takes most of these tests' time, and they run what they compile three times.
jax.config.update("jax_disable_most_optimizations", True)

# On two cores `tiny` reached its first step after 14 s at a load average of 4, and after 43 to 109 s at 8 to 15.
DEADLINE_S = 120
REPOSITORY = Path(__file__).parents[3]


@dataclass
class Gang:
    """The ranks of one attempt."""

    folder: Path
    attempt: int
    ranks: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def exit_codes(self) -> list[int]:
        """Wait for all ranks; at the deadline the test fails with what they wrote."""
        deadline = time.monotonic() + DEADLINE_S
        try:
            return [rank.wait(max(0.1, deadline - time.monotonic())) for rank in self.ranks]
        except subprocess.TimeoutExpired:
            pytest.fail(f"ranks still run after {DEADLINE_S} s\n{self.output(0)}")

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Poll for something that running ranks do."""
        deadline = time.monotonic() + DEADLINE_S
        while not happened():
            if time.monotonic() > deadline or self.ranks[0].poll() is not None:
                pytest.fail(f"it never happened\n{self.output(0)}")
            time.sleep(0.002)

    def kill(self) -> None:
        """SIGKILL all ranks that still run, and reap them."""
        for rank in self.ranks:
            if rank.poll() is None:
                rank.send_signal(signal.SIGKILL)
            rank.wait()

    def records(self, kind: str, rank: int = 0) -> list[dict[str, Any]]:
        """The records of one type in a rank's spool."""
        spool = self.folder / f"spool-{self.attempt}-{rank}"
        lines = spool.read_text().splitlines() if spool.exists() else []
        return [record for record in map(json.loads, lines) if record["type"] == kind]

    def output(self, rank: int) -> str:
        """The end of what a rank printed."""
        return (self.folder / f"output-{self.attempt}-{rank}").read_text()[-4000:]


@pytest.fixture(autouse=True)
def no_silent_broadcasting() -> Iterator[None]:
    """Arrays of different rank may not be combined by accident."""
    with jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture
def gang() -> Iterator[Callable[..., Gang]]:
    """Starts an attempt; what still runs when the test ends is killed."""
    started: list[Gang] = []

    def start(folder: Path, attempt: int, config: dict[str, Any], rank_count: int = 2) -> Gang:
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config))
        coordinator = f"127.0.0.1:{_free_port()}"
        this = Gang(folder, attempt)
        started.append(this)
        for rank in range(rank_count):
            with (folder / f"output-{attempt}-{rank}").open("wb") as output:
                this.ranks.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "workers.rank", "train"],
                        env=_environment(folder, attempt, rank, rank_count, coordinator),
                        cwd=REPOSITORY,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                    )
                )
        return this

    yield start
    for this in started:
        this.kill()


def _environment(folder: Path, attempt: int, rank: int, rank_count: int, coordinator: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    return inherited | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "PODWRIGHT_JOB_ID": "job",
        "PODWRIGHT_ATTEMPT_ID": f"attempt-{attempt}",
        "PODWRIGHT_ATTEMPT": str(attempt),
        "PODWRIGHT_RANK": str(rank),
        "PODWRIGHT_RANK_COUNT": str(rank_count),
        "PODWRIGHT_SLICE": "slice-a",
        "PODWRIGHT_HOST": f"slice-a/{rank}",
        "PODWRIGHT_COORDINATOR": coordinator,
        "PODWRIGHT_SPOOL": str(folder / f"spool-{attempt}-{rank}"),
        "PODWRIGHT_NOTICE": str(folder / notice.FILE),
        "PODWRIGHT_CONFIG": str(folder / "config.json"),
        "PODWRIGHT_CHECKPOINT_ROOT": str(folder / "checkpoints"),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
