"""A notice of preemption: SIGTERM to any rank, after which all ranks agree on one step to save at."""

from __future__ import annotations


def reached(step: int) -> bool:
    """Whether `step` is the step at which all ranks save and leave.

    Every rank calls it after each step, with equal steps, and all get the same answer. The service of jax.distributed
    keeps the notice; a program that did not join has none, and SIGTERM ends it.
    """
    import jax
    from jax.experimental import multihost_utils

    return jax.distributed.is_initialized() and bool(multihost_utils.reached_preemption_sync_point(step))
