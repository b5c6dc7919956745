"""Looks into a rank that hangs: the Python stacks of its process by py-spy, and whether the kernel holds it stopped."""

import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import psutil

TIMEOUT_S: Final = 10.0
LONGEST_BYTES: Final = 6 * 1024
"""Of one rank's stacks: those of all ranks travel in one report."""
PROCESSES: Final = 4
"""Below a rank that is not Python itself, such as a shell, so many are tried."""


class Inspection:
    """One look, in a thread: the agent answers polls meanwhile."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._done = threading.Event()
        self.stack: tuple[str, ...] = ()
        self.stopped = False
        threading.Thread(target=self._run, name="inspection", daemon=True).start()

    @property
    def done(self) -> bool:
        return self._done.is_set()

    def _run(self) -> None:
        try:
            self.stopped = is_stopped(self._pid)
            self.stack = stacks(self._pid)
        finally:
            self._done.set()


def is_stopped(pid: int) -> bool:
    """Whether the process is in the state T: it got SIGSTOP, or a debugger holds it."""
    try:
        return bool(psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP))
    except psutil.Error:
        return False


def stacks(pid: int) -> tuple[str, ...]:
    """The stacks of the process's threads, or of the first Python process below it; what it is if there is none."""
    try:
        rank = psutil.Process(pid)
        candidates = [rank, *rank.children(recursive=True)][: PROCESSES + 1]
        for one in candidates:
            if found := _dump(one.pid):
                return found
        return tuple(f"process {one.pid}: {' '.join(one.cmdline())[:200]} ({one.status()})" for one in candidates)
    except psutil.Error:
        return ()


def _dump(pid: int) -> tuple[str, ...]:
    # Not stopping the process: it hangs, and one that is stopped already could not be stopped once more.
    command = [_py_spy(), "dump", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    if done.returncode != 0:
        return ()
    lines = done.stdout[:LONGEST_BYTES].decode("utf-8", errors="replace").splitlines()
    return tuple(line for line in lines if line and not line.startswith(("Process ", "Python v")))


def _py_spy() -> str:
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy") or "py-spy"
