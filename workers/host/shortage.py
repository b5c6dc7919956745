"""Evidence that a host ran out of memory or disk: what the kernel counted, and what was left when it was last seen."""

import shutil
import time
from pathlib import Path
from typing import Final

import psutil

LOOK_EVERY_S: Final = 1.0
SCARCE: Final = 0.03
"""Part of a host's memory below which a kill that nobody ordered is taken for the kernel's."""
DISK_SCARCE_BYTES: Final = 16 * 1024 * 1024
_GIB: Final = 1024**3
_COUNTERS: Final = (
    (Path("/proc/vmstat"), "oom_kill"),
    (Path("/sys/fs/cgroup/memory.events"), "oom_kill"),
    (Path("/sys/fs/cgroup/memory/memory.oom_control"), "oom_kill"),
)
"""Files of the kernel with a line `name count` that grows when its OOM killer ends a process."""


class MemoryWatch:
    """Follows the memory of one rank's processes and of its host from the rank's launch."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._kills = oom_kills()
        self._looked_at: float | None = None
        self._held = 0
        self._left = 1.0
        self._whole = 0

    def look(self) -> None:
        """Take a sample, at most once a second."""
        now = time.monotonic()
        if self._looked_at is not None and now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        memory = psutil.virtual_memory()
        self._whole, self._left = memory.total, memory.available / memory.total
        held = 0
        try:
            rank = psutil.Process(self._pid)
            for one in (rank, *rank.children(recursive=True)):
                held += one.memory_info().rss
        except psutil.Error:
            return  # it is ending: what was seen before stands
        self._held = held

    def evidence(self) -> str | None:
        """Why a SIGKILL that nobody ordered is the work of the kernel, for want of memory; None without evidence."""
        killed = oom_kills() - self._kills
        had = f"the rank's processes last held {self._held / _GIB:.1f} GiB"
        left = f"{self._left * self._whole / _GIB:.1f} of {self._whole / _GIB:.1f} GiB were left"
        if killed > 0:
            return f"the kernel's OOM killer ended {killed} of this host's processes meanwhile; {had}, {left}"
        if self._whole and self._left < SCARCE:
            return f"it was killed while this host was out of memory: {had}, {left}"
        return None


def oom_kills() -> int:
    """How many processes the kernel has ended for want of memory, as far as we may see; 0 where it does not say."""
    return max((_count(file, name) for file, name in _COUNTERS), default=0)


def full_disk(folder: Path, scarce_bytes: int = DISK_SCARCE_BYTES) -> str | None:
    """Evidence that the disk of `folder` is full, in words."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    if usage.free >= scarce_bytes:
        return None
    return f"its disk was full: {usage.free // 1024**2} MiB of {usage.total / _GIB:.0f} GiB were left"


def _count(file: Path, name: str) -> int:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name} ")), 0)
