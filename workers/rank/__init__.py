"""What a program says to Podwright, in four calls:

    from workers import rank

    rank.initialize()                      # join the gang: jax.distributed.initialize with the right arguments
    rank.phase("train")
    rank.report(step, total_steps=1000, loss=loss)

All of them do nothing harmful outside Podwright, where `context()` is None. Importing this imports no JAX.
"""

from __future__ import annotations

import functools
import os

from workers.rank import distributed, preemption
from workers.rank.context import RankContext, inside_podwright
from workers.rank.progress import Reporter, Spool

__all__ = ["RankContext", "context", "initialize", "phase", "preempted", "report"]


@functools.cache
def context() -> RankContext | None:
    """Who this rank is; None outside Podwright. Raises ValueError when the environment is incomplete."""
    return RankContext.from_environment(os.environ) if inside_podwright(os.environ) else None


def initialize() -> None:
    """Join the gang; call it before any other use of JAX. Outside Podwright JAX stays as it is."""
    here = context()
    if here is not None:
        phase("init")
        distributed.initialize(here, _reporter())


def phase(name: str) -> None:
    """This rank enters a phase: init, compile, restore, train, eval or checkpoint."""
    _reporter().phase(name)


def report(step: int, total_steps: int | None = None, **values: float) -> None:
    """`step` steps are complete. Every rank calls it (a silent one counts as hung); `values` are rank 0's."""
    reporter = _reporter()
    reporter.progress(step, total_steps)
    if values:
        reporter.metrics(step, values)


def preempted(step: int) -> bool:
    """Whether to save at this step and leave. Every rank calls it after every step."""
    return preemption.reached(step)


@functools.cache
def _reporter() -> Reporter:
    here = context()
    return Reporter(Spool(here.spool), here.rank) if here else Reporter(Spool(None), rank=0)
