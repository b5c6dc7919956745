"""Take an emulated host away as a power cut would, or only its raylet. Imports no Ray: any process may use it."""

import contextlib
import os
import time
from collections.abc import Iterable

import psutil


def kill_host(raylet_pid: int, timeout_s: float = 10.0) -> None:
    """SIGKILL the raylet and everything below it: agents, shims and ranks end at the same moment, as on a lost VM.

    Descendants are listed before anything is killed: once the raylet is gone they belong to init and cannot be found.

    Raises:
        psutil.NoSuchProcess: there is no process `raylet_pid`.
        TimeoutError: something still ran after `timeout_s`.
    """
    raylet = psutil.Process(raylet_pid)
    end_all([raylet, *raylet.children(recursive=True)], timeout_s)


def kill_raylet_only(raylet_pid: int, timeout_s: float = 10.0) -> None:
    """SIGKILL the raylet alone. The agent must notice that its parent is gone and end its rank by itself.

    Raises as `kill_host`.
    """
    end_all([psutil.Process(raylet_pid)], timeout_s)


def end_all(processes: Iterable[psutil.Process], timeout_s: float) -> None:
    """SIGKILL `processes` and wait until none of them runs; our own children are reaped.

    Raises:
        TimeoutError: something still ran after `timeout_s`.
    """
    remaining = list(processes)
    for process in remaining:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    deadline = time.monotonic() + timeout_s
    while remaining := [process for process in remaining if _runs(process)]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"still running after SIGKILL: {[process.pid for process in remaining]}")
        time.sleep(0.02)


def _runs(process: psutil.Process) -> bool:
    """Whether it still executes. A zombie does not: it waits for its parent, which may be somebody else's process."""
    with contextlib.suppress(ChildProcessError):  # not ours to reap
        os.waitpid(process.pid, os.WNOHANG)
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
