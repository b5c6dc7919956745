"""A notice of preemption: SIGTERM to any rank, after which all ranks agree on one step to leave at, and whether a save
fits the time that is left."""

from __future__ import annotations

import json
import time
from pathlib import Path

CAUTION = 1.25
"""A save on notice may take longer than the longest one so far by this factor."""


def reached(step: int) -> bool:
    """Whether `step` is the step at which all ranks leave.

    Every rank calls it after each step, with equal steps, and all get the same answer. The service of jax.distributed
    keeps the notice; a program that did not join has none, and SIGTERM ends it.
    """
    import jax
    from jax.experimental import multihost_utils

    return jax.distributed.is_initialized() and bool(multihost_utils.reached_preemption_sync_point(step))


def time_left_s(notice: Path | None) -> float | None:
    """How long this rank may still run; None when nobody said so (a SIGTERM that is not the agent's)."""
    try:
        content = notice.read_text() if notice is not None else "{}"
        until = json.loads(content).get("until_monotonic_s")
    except (OSError, ValueError):
        return None
    return None if until is None else max(0.0, float(until) - time.monotonic())


def judge(left_s: float | None, save_s: float | None, pending: bool) -> tuple[bool, str]:
    """Whether to save, and why, in words. Pure.

    `save_s` is the longest save of this attempt, from its beginning to its commit; None before there was one.
    `pending`: the save before is still being written, and has to be waited for.
    """
    if left_s is None:
        return True, "it is saved: nobody said how much time is left"
    if save_s is None:
        return True, f"it is saved: {left_s:.1f} s are left, and how long a save takes is not known yet"
    needed_s = CAUTION * save_s * (2 if pending else 1)
    waits = ", after the one that is being written," if pending else ""
    if needed_s <= left_s:
        return True, f"it is saved: {left_s:.1f} s are left, and a save{waits} takes up to {needed_s:.1f} s"
    return False, f"it is not saved: {left_s:.1f} s are left, and a save{waits} takes up to {needed_s:.1f} s"
