"""Signs in what a rank left behind that say which kind of end it was: its last lines, its claim, its host's evidence.

Each sign was seen on real processes. A sign needs the words of the fault itself, not of its neighbourhood:
`RESOURCE_EXHAUSTED` alone is also what a storage server says that has had too many requests.
"""

import re
import signal
from collections.abc import Sequence
from typing import Final

from orchestrator.domain.endings import Reason
from orchestrator.domain.incident import RankExit

ECHOES: Final = (
    "Connection closed by peer",
    "Connection reset by peer",
    "coordination service",
    "CoordinationService",
    "Gloo",
    "heartbeat timeout",
    "Shutdown barrier",
)
"""What jax.distributed and gloo print in the ranks that lost a sibling."""

LAST_WORDS: Final = 5
"""Lines at the end of stderr among which an exception's own line is; what is above may be somebody's logging."""

_BARRIER: Final = re.compile(r"DEADLINE_EXCEEDED")
_AT_BARRIER: Final = re.compile(r"CoordinationService/RegisterTask|barrier", re.IGNORECASE)
_DEVICE_MEMORY: Final = re.compile(r"RESOURCE_EXHAUSTED.*(out of memory|hbm|allocat|memory space)", re.IGNORECASE)
_HOST_MEMORY: Final = re.compile(
    r"^(numpy\.\S*)?(_Array)?MemoryError\b|Cannot allocate memory|std::bad_alloc|DefaultCPUAllocator: .*memory"
)
_DISK: Final = re.compile(r"No space left on device|Disk quota exceeded|\[Errno (28|122)\]")


def is_echo(exit: RankExit) -> bool:
    """An abort, or an error about a lost sibling, follows another rank's failure."""
    if exit.claim is not None:
        told = exit.claim.message
        return exit.claim.reason == "superseded" or any(echo in told for echo in ECHOES)
    if exit.signal is not None:
        return exit.signal == signal.SIGABRT and _mentions(exit.stderr_tail, ECHOES)
    return _mentions(exit.stderr_tail[-LAST_WORDS:], ECHOES)


def reason_of(exit: RankExit) -> Reason:
    """The ending that this rank's failure stands for. What the program claims goes first, save that it "failed"."""
    if exit.claim is not None and exit.claim.reason in set(Reason) - {Reason.PROGRAM_ERROR}:
        return Reason(exit.claim.reason)
    return _by_signs(exit) or Reason.PROGRAM_ERROR


def never_met(exit: RankExit) -> bool:
    """Whether it gave up waiting for the others at the barrier where jax.distributed begins."""
    said = "\n".join(exit.stderr_tail)
    return bool(_BARRIER.search(said) and _AT_BARRIER.search(said)) and exit.last_step is None


def _by_signs(exit: RankExit) -> Reason | None:
    said = [*exit.stderr_tail, *([exit.claim.message] if exit.claim is not None else [])]
    last = [line.strip() for line in said if line.strip()][-LAST_WORDS:]
    if exit.signal == signal.SIGKILL:
        return Reason.HOST_OOM if exit.memory is not None else None
    if any(_DEVICE_MEMORY.search(line) for line in said):  # a table of buffers may follow it
        return Reason.HBM_OOM
    if any(_HOST_MEMORY.search(line) for line in last):
        return Reason.HOST_OOM
    if any(_DISK.search(line) for line in last) or (exit.signal == signal.SIGBUS and exit.disk is not None):
        return Reason.DISK_FULL
    if never_met(exit):
        return Reason.INIT_TIMEOUT
    return None


def _mentions(lines: Sequence[str], words: Sequence[str]) -> bool:
    return any(word in line for line in lines for word in words)
