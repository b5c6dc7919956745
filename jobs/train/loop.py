"""The loop: batches in, steps, reports, checkpoints; from the newest commit to the last step."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax

from jobs.train.compiled import Compiled
from jobs.train.config import read_config
from jobs.train.data import Ahead, Batches, Data
from jobs.train.layout import Placement, make_mesh
from jobs.train.loss import Sums
from jobs.train.speed import Speed, memory
from jobs.train.step import Batch, Metrics, State, Trainer, compile_evaluation, compile_step, initialise
from orchestrator.domain.programs.train import OnNan, TrainConfig
from workers.rank import distributed, preemption
from workers.rank.checkpoint import Checkpoints
from workers.rank.context import RankContext
from workers.rank.failure import InvalidProgram, NanLoss
from workers.rank.progress import Reporter

log = logging.getLogger(__name__)

_SPLIT_BY = {"D": "embed", "H": "heads", "G": "kv_heads", "F": "ffn", "V": "vocab", "T": "time", "C": "time"}
"""Letter of a size -> its logical axis."""


def run(context: RankContext, reporter: Reporter) -> bool:
    """Train as the config says. True: all steps are done and committed. False: left early, on a notice."""
    config = read_config(context)
    distributed.initialize(context, reporter)
    placement = place(config)
    trainer, data = Trainer(config, placement), Data.of(config)
    checkpoints = Checkpoints(context, reporter)
    target = trainer.abstract()

    state = resume_or_begin(checkpoints, trainer, data.train, target, reporter)
    reporter.phase("compile")
    rows = placement.sharding(("batch", None))
    step = Compiled(partial(compile_step, trainer, target), data.train.shapes(rows))
    evaluation = None
    if config.eval_every is not None and data.held_out is not None:
        program = compile_evaluation(trainer, target, data.held_out.shapes(rows))
        evaluation = Evaluation(program, data.held_out, rows, config.eval_batches)
    loop = Loop(config, step, checkpoints, data.train, rows, reporter, evaluation)
    complete = loop.train(state, checkpoints.restorable_step or 0, context.checkpoint_every_steps)
    checkpoints.close()
    return complete


def place(config: TrainConfig) -> Placement:
    """The mesh of this gang. Raises InvalidProgram when mesh, batch or model do not divide by its devices."""
    try:
        placement = Placement(make_mesh(config.mesh))
    except ValueError as error:
        raise InvalidProgram(f"config.mesh: {error}") from error
    rows = config.data.batch // config.optimizer.accumulate
    if rows % placement.ways("batch"):
        raise InvalidProgram(f"data.batch={rows} does not divide over {placement.ways('batch')} devices")
    # C: the places of a piece of the loss.
    sizes = {letter: getattr(config.model, letter) for letter in "DHGFVT"} | {"C": config.model.T // config.loss.chunks}
    for letter, axis in _SPLIT_BY.items():
        ways = placement.ways(axis)
        if sizes[letter] % ways:
            raise InvalidProgram(f"model.{letter}={sizes[letter]} does not divide over {ways} devices")
    return placement


def resume_or_begin(
    checkpoints: Checkpoints, trainer: Trainer, batches: Batches, target: State, reporter: Reporter
) -> State:
    """The state of the newest commit, or a fresh one for a job that has none."""
    if checkpoints.restorable_step is None:
        return begin_from(trainer, target)
    reporter.phase("restore")
    restored = checkpoints.restore(target)
    batches.resume(restored.position, restored.step)
    return restored.state


def begin_from(trainer: Trainer, target: State) -> State:
    """A state at step 0: drawn from the seed, with the weights that the config names in place of its own."""
    state, source = initialise(trainer, target), trainer.config.init_from
    if source is None:
        return state
    from jobs.train import weights  # no other job needs the library

    jax.tree.map(lambda leaf: leaf.delete(), state.params)  # chips need not hold both
    return replace(state, params=weights.read(Path(source.hf), trainer.config.model, target.params))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The mean loss of the same held-out batches each time."""

    program: Callable[[Any, Batch], Sums]
    batches: Batches
    rows: Any
    count: int

    def loss(self, params: Any) -> float:
        """Over all targets of all batches alike."""
        found = [self.program(params, self.batches.on_devices(number, self.rows)) for number in range(self.count)]
        return float(sum(sums.entropy for sums in found) / sum(sums.count for sums in found))


@dataclass(slots=True)
class Loop:
    """Runs compiled steps. Metrics of step n are read after step n+1 was dispatched, so the devices never wait."""

    config: TrainConfig
    step: Callable[[State, Batch], tuple[State, Metrics]]
    checkpoints: Checkpoints
    batches: Batches
    rows: Any
    reporter: Reporter
    evaluation: Evaluation | None = None
    speed: Speed = field(init=False)

    def __post_init__(self) -> None:
        self.speed = Speed(self.config)

    def train(self, state: State, begin: int, checkpoint_every: int | None) -> bool:
        """From `begin` completed steps to the last. False when a notice ended it earlier; its step is saved by then if
        there was time for that."""
        steps, every = self.config.steps, checkpoint_every or self.config.checkpoint_every
        ahead = Ahead(lambda step: self.batches.on_devices(step, self.rows), last=steps - 1)
        self.reporter.phase("train")
        self.reporter.progress(begin, steps)
        self.speed.begin(begin)
        pending: tuple[int, Metrics] | None = None
        try:
            for done in range(begin + 1, steps + 1):
                asked = time.monotonic()
                batch = ahead.take(done - 1)
                self.speed.waited(time.monotonic() - asked)
                state, metrics = self.step(state, batch)
                self._finish(pending)
                pending = (done, metrics)
                noticed = preemption.reached(done)
                due = done % every == 0 or done == steps
                saves = self.checkpoints.fits_notice(done) if noticed else due
                if saves or noticed or self._evaluates(done):
                    self._finish(pending)  # before the save: a checkpoint never holds what a NaN made
                    pending = None
                    self._pause(done, state, saves, self._evaluates(done) and not noticed)
                    if noticed and (done < steps or not saves):
                        return False
                    if done < steps:
                        self.reporter.phase("train")
        finally:
            ahead.close()
        return True

    def _evaluates(self, done: int) -> bool:
        every = self.config.eval_every
        return self.evaluation is not None and every is not None and (done % every == 0 or done == self.config.steps)

    def _finish(self, pending: tuple[int, Metrics] | None) -> None:
        """Wait for a step's end, refuse numbers that are not finite, report."""
        if pending is None:
            return
        step, values = pending[0], {name: float(value) for name, value in pending[1].items()}
        bad = [name for name in ("loss", "grad_norm") if not math.isfinite(values[name])]
        if bad or step % self.config.report_every == 0 or step == self.config.steps:
            self.reporter.metrics(step, values | self.speed.report(step) | memory())
            self.reporter.progress(step, self.config.steps)
        if bad and self.config.optimizer.on_nan is OnNan.STOP:
            raise NanLoss(f"{' and '.join(bad)} became {values[bad[0]]} at step {step:,}")
        if bad:
            log.warning("step %d changed nothing: its %s became %s", step, " and ".join(bad), values[bad[0]])

    def _pause(self, step: int, state: State, saves: bool, evaluates: bool) -> None:
        """Save and evaluate; that time is no step's."""
        paused = time.monotonic()
        if saves:
            step_at_ms = self.reporter.now_ms()
            self.reporter.phase("checkpoint")
            self.checkpoints.save(step, state, self.batches.position(step), step_at_ms)
        if evaluates and self.evaluation is not None:
            self.reporter.phase("eval")
            self.reporter.metrics(step, {"eval/loss": self.evaluation.loss(state.params)})
        self.speed.outside(time.monotonic() - paused)
