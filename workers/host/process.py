"""One rank's process under its shim, as the agent holds it: launch, exit, signals, and what is left of it."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workers.host.messages import Launched

SHIM: Final = Path(__file__).with_name("shim.py")
LAUNCH_TIMEOUT_S: Final = 8.0
"""Below the agent's lease: it answers no poll meanwhile."""
SHIM_PATIENCE_S: Final = 3.0
"""How long an ended rank's shim may take before it is taken for frozen and killed itself."""
OOM_SCORE: Final = 500
"""The kernel takes a rank before the agent (0) when a host's memory runs out."""


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How the rank's process ended; exactly one of `exit_code` and `signal` is set."""

    exit_code: int | None
    signal: int | None
    ordered: bool
    exited_at_ms: int


class RankProcess:
    """A rank that has, or had, a process.

    `marker` is a set of environment lines that only this rank's processes hold; with it those are found that outlived
    a killed shim.
    """

    def __init__(
        self, shim: subprocess.Popen[bytes], launched: Launched, folder: Path, marker: Mapping[str, str]
    ) -> None:
        self.launched = launched
        self._shim = shim
        self._folder = folder
        self._marker = {f"{name}={value}".encode() for name, value in marker.items()}
        self._end_asked_at: float | None = None
        self._exit: ProcessExit | None = None
        self._drained = False

    @classmethod
    def launch(
        cls,
        argv: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        marker: Mapping[str, str],
        code: Path | None = None,
    ) -> "RankProcess":
        """Start the shim and, through it, the rank, in the folder `code` or else in one of its own.

        Call from a thread that lives as long as the agent: the shim ends when the thread that made it does.

        A program that cannot be executed is not an error here: its rank exits with 127 or 126.

        Raises:
            RuntimeError: the shim did not start, with its last words.
        """
        launch_file = folder / "launch.json"
        launch = {
            "argv": list(argv),
            "env": dict(environment),
            "folder": str(folder),
            "code": None if code is None else str(code),
            "oom_score_adj": _oom_score(),
        }
        launch_file.touch(mode=0o600, exist_ok=False)
        launch_file.write_text(json.dumps(launch))
        with (folder / "shim.log").open("wb") as log:
            shim = subprocess.Popen(
                [sys.executable, "-I", "-S", str(SHIM), str(launch_file), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={"PATH": environment.get("PATH", os.defpath)},
            )
        line = _first_line(shim)
        if not line:
            shim.kill()
            shim.wait()
            words = (folder / "shim.log").read_text(errors="replace").strip().splitlines()
            raise RuntimeError(f"the rank's shim did not start: {words[-1] if words else 'no word from it'}")
        started = json.loads(line)
        return cls(shim, Launched(started["pid"], started["started_at_ms"]), folder, marker)

    def exit(self) -> ProcessExit | None:
        """How the rank ended, once it and everything below it is gone; None before."""
        if self._exit is None and self._shim.poll() is not None:
            self._exit = self._read_exit()
        asked = self._end_asked_at
        if self._exit is None and asked is not None and time.monotonic() - asked > SHIM_PATIENCE_S:
            self._shim.kill()  # the rank follows by its parent-death signal, the rest by `drained`
        return self._exit

    def drained(self) -> bool:
        """Whether nothing is left of the rank. What outlived its shim is killed by this call."""
        if self.exit() is not None and not self._drained:
            left = list(_processes_with(self._marker))
            for pid in left:
                _send(pid, signal.SIGKILL)
            self._drained = not left
        return self._drained

    def terminate(self) -> None:
        """SIGTERM to the program, which may take its time."""
        self._signal_shim(signal.SIGTERM)

    def end(self) -> None:
        """SIGKILL to the program and all that it started."""
        if self._end_asked_at is None:
            self._end_asked_at = time.monotonic()
        self._signal_shim(signal.SIGINT)

    def _signal_shim(self, number: signal.Signals) -> None:
        if self._shim.poll() is None:
            _send(self._shim.pid, number)

    def _read_exit(self) -> ProcessExit:
        try:
            return ProcessExit(**json.loads((self._folder / "exit.json").read_text()))
        except (OSError, ValueError, TypeError):
            # The shim was killed, and its rank with it, or the disk had no room for its last words.
            now_ms = time.time_ns() // 1_000_000
            return ProcessExit(None, signal.SIGKILL, self._end_asked_at is not None, now_ms)


def _first_line(shim: subprocess.Popen[bytes]) -> bytes:
    assert shim.stdout is not None
    with shim.stdout as pipe:
        ready, _, _ = select.select([pipe], [], [], LAUNCH_TIMEOUT_S)
        return pipe.readline() if ready else b""


def _processes_with(marker: set[bytes]) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # ended meanwhile, or another user's
            if marker <= set((entry / "environ").read_bytes().split(b"\0")):
                yield int(entry.name)


def _oom_score() -> int:
    own = int(Path("/proc/self/oom_score_adj").read_text())
    return max(own, OOM_SCORE)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
