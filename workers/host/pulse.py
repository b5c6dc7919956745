"""How a rank gets on, from what it appends to its spool and from its connections: phase, steps, and how long ago.

Ages are by this host's steady clock from the moment a line was first seen, so a wrong wall clock hides no stall and
makes none.
"""

import statistics
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil

from workers.host import streams
from workers.host.messages import Pulse

MOST_BYTES: Final = 1024 * 1024
"""Of a spool at one look: a program that writes faster is seen to make progress all the same."""
GAPS_KEPT: Final = 64
CONNECTIONS_EVERY_MS: Final = 1_000


def _ticks_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class PulseTaker:
    """Follows one rank from its launch. `coordinator` is `host:port`; `pid` the rank's process."""

    def __init__(
        self, folder: Path, coordinator: str, pid: int, *, reports: bool, ticks_ms: Callable[[], int] = _ticks_ms
    ) -> None:
        self._folder = folder
        self._port = int(coordinator.rpartition(":")[2])
        self._pid = pid
        self._reports = reports
        """Whether the program says itself when it joins; of others the connections are looked at."""
        self._ticks_ms = ticks_ms
        self._launched = self._entered = self._stepped = ticks_ms()
        self._looked_at: int | None = None
        self._offset = 0
        self._torn = b""
        self._joined = False
        self._phase: str | None = None
        self._step: int | None = None
        self._total: int | None = None
        self._reported = 0
        """How often a step was reported since the phase was entered: the first gap may hold a compilation."""
        self._gaps: deque[int] = deque(maxlen=GAPS_KEPT)

    def look(self) -> Pulse:
        """Read on, and say how the rank is now."""
        now = self._ticks_ms()
        self._read(now)
        self._look_for_connection(now)
        return Pulse(
            age_ms=now - self._launched,
            joined=self._joined,
            phase=self._phase,
            phase_ms=now - self._entered,
            step=self._step,
            total_steps=self._total,
            step_ms=now - self._stepped,
            gaps=len(self._gaps),
            median_ms=int(statistics.median(self._gaps)) if self._gaps else 0,
            slowest_ms=max(self._gaps, default=0),
        )

    def _read(self, now: int) -> None:
        data = streams.read(self._folder, "spool", self._offset, MOST_BYTES)
        self._offset += len(data)
        whole, _, self._torn = (self._torn + data).rpartition(b"\n")
        self._torn = self._torn[-MOST_BYTES:]
        made = 0
        for record in streams.records(whole):
            if record.get("type") == "phase":
                made = self._count(made, now)
                self._enter(str(record.get("phase")), now)
            elif record.get("type") == "progress" and streams.is_step(record.get("step")):
                made += 1
                self._step = record["step"]
                total = record.get("total_steps")
                self._total = total if streams.is_step(total) else None
        self._count(made, now)

    def _enter(self, phase: str, now: int) -> None:
        self._joined = self._joined or phase != "init"
        if phase not in ("train", "checkpoint", "eval"):
            self._reported = 0
        self._phase, self._entered, self._stepped = phase, now, now

    def _count(self, reports: int, now: int) -> int:
        """Take in that so many steps were reported since the last look; their gaps are taken to be equal."""
        if reports:
            if self._reported > 1:
                self._gaps.append((now - self._stepped) // reports)
            self._reported += reports
            self._stepped = now
        return 0

    def _look_for_connection(self, now: int) -> None:
        if self._reports or self._joined or self._phase is not None:
            return
        if self._looked_at is None or now - self._looked_at >= CONNECTIONS_EVERY_MS:
            self._looked_at = now
            self._joined = has_connection(self._pid, self._port)


def has_connection(pid: int, port: int) -> bool:
    """Whether the process or one below it listens on the coordinator's port, or is connected to it."""
    try:
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            for found in one.net_connections("tcp"):
                ours = found.laddr and found.laddr.port == port and found.status == psutil.CONN_LISTEN
                theirs = found.raddr and found.raddr.port == port and found.status == psutil.CONN_ESTABLISHED
                if ours or theirs:
                    return True
    except (psutil.Error, OSError):
        return False
    return False
