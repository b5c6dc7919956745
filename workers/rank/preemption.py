"""A notice of preemption: SIGTERM to any rank, after which all ranks agree on one step to save at."""

from __future__ import annotations

import signal
import threading
from types import FrameType

_noticed = threading.Event()


def listen() -> None:
    """Keep SIGTERM as a flag in a program that does not use jax.distributed, which has a listener of its own.

    Main thread only. Call it once there is something to save: before that SIGTERM may end the process at once.
    """

    def note(_signal: int, _frame: FrameType | None) -> None:
        _noticed.set()

    signal.signal(signal.SIGTERM, note)


def reached(step: int) -> bool:
    """Whether `step` is the step at which all ranks save and leave.

    Every rank calls it after each step, with equal steps. Inside jax.distributed the answer is the same on all ranks;
    in other programs it is this process's own flag.
    """
    import jax
    from jax.experimental import multihost_utils

    if jax.distributed.is_initialized():
        return bool(multihost_utils.reached_preemption_sync_point(step))
    return _noticed.is_set()
