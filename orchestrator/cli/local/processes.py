"""Operating-system processes by identity, not by number: a recycled pid is never taken for another's."""

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

MARK: Final = "PODWRIGHT_LAUNCH"
"""Environment variable that a sibling's whole offspring inherits, so that orphans are still known as ours."""

_POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Identity:
    """One process. The kernel counts `started_ticks` from boot, so a change of the wall clock does not touch it."""

    pid: int
    started_ticks: int
    boot_id: str

    @property
    def alive(self) -> bool:
        """Whether this very process still runs; a zombie does not."""
        return identify(self.pid) == self

    def signal(self, number: int) -> None:
        """Send a signal; nothing happens if the process is gone."""
        if self.alive:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return


def identify(pid: int) -> Identity | None:
    """The running process with this number, or None if there is none or it only waits to be reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command in parentheses may hold spaces and parentheses; fields are counted from its last one.
    fields = stat.rpartition(")")[2].split()
    state, started_ticks = fields[0], int(fields[19])
    return None if state in "ZX" else Identity(pid, started_ticks, _boot_id())


def end_tree(root: Identity, grace_s: float) -> None:
    """Ask `root` to end, give it `grace_s`, then kill it and whatever remains of its descendants."""
    family = _descendants(root)
    root.signal(signal.SIGTERM)
    if not wait_gone([root], grace_s):
        family |= _descendants(root)
        root.signal(signal.SIGKILL)
    kill_all(family)
    wait_gone([root, *family], grace_s=5)


def kill_tree(root: Identity) -> None:
    """SIGKILL a process and all its descendants at once, as a power cut would.

    They are listed first: once the root is gone the others belong to init and cannot be found.
    """
    family = {root, *_descendants(root)}
    kill_all(family)
    wait_gone(family, grace_s=5)


def marked(mark: str) -> set[Identity]:
    """All processes whose environment carries `mark`: the offspring of a launch, orphans included."""
    entry = f"{MARK}={mark}".encode()
    found = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            entries = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # gone meanwhile, or another user's
            continue
        if entry in entries and (process := identify(int(folder.name))):
            found.add(process)
    return found


def kill_all(processes: Iterable[Identity]) -> None:
    for process in processes:
        process.signal(signal.SIGKILL)


def wait_gone(processes: Iterable[Identity], grace_s: float) -> bool:
    """Wait until none of them runs, at most `grace_s`; whether that came true."""
    deadline = time.monotonic() + grace_s
    left = [process for process in processes if process.alive]
    while left and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        _reap(left)
        left = [process for process in left if process.alive]
    return not left


def _descendants(root: Identity) -> set[Identity]:
    if not root.alive:
        return set()
    try:
        children = psutil.Process(root.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return set()
    return {process for child in children if (process := identify(child.pid))}


def _reap(processes: Iterable[Identity]) -> None:
    """Take the exit status of those that are our own children, lest they stay zombies while we run."""
    for process in processes:
        try:
            os.waitpid(process.pid, os.WNOHANG)
        except ChildProcessError:
            continue


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
