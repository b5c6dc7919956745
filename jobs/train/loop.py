"""The loop: batches in, steps, reports, checkpoints; from the newest commit to the last step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jobs.train.config import read_config
from jobs.train.data import Batches
from jobs.train.layout import Placement, make_mesh
from jobs.train.step import Metrics, State, Trainer, compile_step, initialise
from orchestrator.domain.programs.train import TrainConfig
from workers.rank import distributed, preemption
from workers.rank.checkpoint import Checkpoints
from workers.rank.context import RankContext
from workers.rank.failure import InvalidProgram, NanLoss
from workers.rank.progress import Reporter


def run(context: RankContext, reporter: Reporter) -> bool:
    """Train as the config says. True: all steps are done and committed. False: saved and left early, on a notice."""
    config = read_config(context)
    distributed.initialize(context)
    placement = place(config)
    trainer, batches = Trainer(config, placement), Batches.of(config)
    checkpoints = Checkpoints(context, reporter)
    target = trainer.abstract()

    state = resume_or_begin(checkpoints, trainer, batches, target, reporter)
    reporter.phase("compile")
    rows = placement.sharding(("batch", None))
    shape = jax.ShapeDtypeStruct((batches.rows, batches.width), jnp.int32, sharding=rows)
    loop = Loop(config, compile_step(trainer, target, shape), checkpoints, batches, rows, reporter)
    complete = loop.train(state, checkpoints.restorable_step or 0, context.checkpoint_every_steps)
    checkpoints.close()
    return complete


def place(config: TrainConfig) -> Placement:
    """The mesh of this gang. Raises InvalidProgram when mesh, batch or model do not divide by its devices."""
    try:
        placement = Placement(make_mesh(config.mesh))
    except ValueError as error:
        raise InvalidProgram(f"config.mesh: {error}") from error
    if config.data.batch % placement.batch_ways:
        raise InvalidProgram(f"data.batch={config.data.batch} does not divide over {placement.batch_ways} devices")
    for letter, axis in {"D": "fsdp", "H": "tensor", "F": "tensor"}.items():
        size, ways = getattr(config.model, letter), placement.mesh.shape[axis]
        if size % ways:
            raise InvalidProgram(f"model.{letter}={size} does not divide over {ways} devices")
    return placement


def resume_or_begin(
    checkpoints: Checkpoints, trainer: Trainer, batches: Batches, target: State, reporter: Reporter
) -> State:
    """The state of the newest commit, or a fresh one for a job that has none."""
    if checkpoints.restorable_step is None:
        return initialise(trainer, target)
    reporter.phase("restore")
    restored = checkpoints.restore(target)
    batches.resume(restored.position, restored.step)
    return restored.state


@dataclass(slots=True)
class Loop:
    """Runs compiled steps. Metrics of step n are read after step n+1 was dispatched, so the devices never wait."""

    config: TrainConfig
    step: Callable[[State, jax.Array], tuple[State, Metrics]]
    checkpoints: Checkpoints
    batches: Batches
    rows: Any
    reporter: Reporter
    _seen: tuple[int, float] = (0, 0.0)
    """the last step whose end was seen, and when (monotonic seconds)"""

    def train(self, state: State, begin: int, checkpoint_every: int | None) -> bool:
        """From `begin` completed steps to the last. False when a notice ended it earlier; its step is saved by then."""
        steps, every = self.config.steps, checkpoint_every or self.config.checkpoint_every
        self.reporter.phase("train")
        self.reporter.progress(begin, steps)
        self._seen = (begin, time.monotonic())
        pending: tuple[int, Metrics] | None = None
        for done in range(begin + 1, steps + 1):
            state, metrics = self.step(state, self.batches.on_devices(done - 1, self.rows))
            self._finish(pending)
            pending = (done, metrics)
            noticed = preemption.reached(done)
            if noticed or done % every == 0 or done == steps:
                self._finish(pending)  # before the save: a checkpoint never holds what a NaN made
                pending = None
                self._save(done, state)
                if noticed and done < steps:
                    return False
                if done < steps:
                    self.reporter.phase("train")
        return True

    def _finish(self, pending: tuple[int, Metrics] | None) -> None:
        """Wait for a step's end, refuse numbers that are not finite, report."""
        if pending is None:
            return
        step, values = pending[0], {name: float(value) for name, value in pending[1].items()}
        now = time.monotonic()
        bad = [name for name in ("loss", "grad_norm") if not math.isfinite(values[name])]
        if bad or step % self.config.report_every == 0 or step == self.config.steps:
            seconds = (now - self._seen[1]) / (step - self._seen[0])
            tokens = self.batches.rows * (self.batches.width - 1)
            speed = {"step_ms": seconds * 1000, "tokens_per_second": tokens / seconds}
            self._seen = (step, now)
            self.reporter.metrics(step, values | speed)
            self.reporter.progress(step, self.config.steps)
        if bad:
            raise NanLoss(f"{' and '.join(bad)} became {values[bad[0]]} at step {step:,}")

    def _save(self, step: int, state: State) -> None:
        step_at_ms = self.reporter.now_ms()
        self.reporter.phase("checkpoint")
        blocked_from = time.monotonic()
        self.checkpoints.save(step, state, self.batches.position(step), step_at_ms)
        # The time of a save is no step's time.
        self._seen = (self._seen[0], self._seen[1] + time.monotonic() - blocked_from)
