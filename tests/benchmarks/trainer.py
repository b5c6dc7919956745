"""The trainer's figures on this CPU: one JSON line each. `make bench FIGURE=trainer`; some minutes on two free cores.

The text comes from PODWRIGHT_SHAKESPEARE, by default ../shared/data/tinyshakespeare.txt; PyTorch from the interpreter
that PODWRIGHT_PEERS names (one with torch, the dependency group `peers`). Without them their figures are not measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

# Before any backend starts.
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 8)

from jobs.train.compiled import Compiled  # noqa: E402
from jobs.train.config import parse  # noqa: E402
from jobs.train.data import Data  # noqa: E402
from jobs.train.loop import Evaluation, Loop  # noqa: E402
from jobs.train.step import Trainer, compile_evaluation, compile_step, initialise  # noqa: E402
from orchestrator.domain.programs import fill_in  # noqa: E402
from orchestrator.domain.programs.train import TrainConfig  # noqa: E402
from tests.benchmarks.figure import Figure, at_most  # noqa: E402
from tests.jobs.train.machine import on  # noqa: E402
from workers.rank.progress import Reporter, Spool  # noqa: E402

TEXT = Path(os.environ.get("PODWRIGHT_SHAKESPEARE", "../shared/data/tinyshakespeare.txt"))
PEERS = os.environ.get("PODWRIGHT_PEERS")
ROUNDS, STEPS = 5, 40


def figures() -> Iterator[Figure]:
    if not TEXT.is_file():
        sys.stderr.write(f"not measured: {TEXT} is not there\n")
        return
    yield _loss()
    yield _loop()
    yield from _against_torch()
    yield _eight_devices()


def shakespeare(**keys: Any) -> TrainConfig:
    """nanoGPT's character config for a CPU."""
    return parse(json.dumps(fill_in("train", {"preset": "shakespeare-char"} | keys)))


@dataclass
class NoCheckpoints:
    """Takes saves and keeps nothing: the loop is measured, not the disk."""

    def save(self, step: int, state: Any, position: Any, step_at_ms: int) -> None:
        pass


def _config(**keys: Any) -> TrainConfig:
    config = shakespeare(**keys)
    return replace(config, data=replace(config.data, paths=(str(TEXT),)))


def _loss() -> Figure:
    losses = []
    for seed in range(3):
        config = replace(_config(seed=seed), eval_every=None)
        trainer, data, rows, step, state = _prepared(config, on())
        for number in range(config.steps):
            state, _ = step(state, data.train.on_devices(number, rows))
        assert data.held_out is not None
        program = compile_evaluation(trainer, trainer.abstract(), data.held_out.shapes(rows))
        losses.append(Evaluation(program, data.held_out, rows, 200).loss(state.params))
    how = f"held-out loss after 2,000 steps, 200 batches, seeds 0 to 2: {', '.join(f'{loss:.3f}' for loss in losses)}"
    return at_most("trainer.shakespeare_loss", float(np.mean(losses)), 1.92, "nats", how)


def _prepared(config: TrainConfig, placement: Any) -> tuple[Trainer, Data, Any, Any, Any]:
    trainer, data, rows = Trainer(config, placement), Data.of(config), placement.sharding(("batch", None))
    target = trainer.abstract()
    step = Compiled(partial(compile_step, trainer, target), data.train.shapes(rows))
    return trainer, data, rows, step, initialise(trainer, target)


def _step_s(config: TrainConfig, placement: Any) -> float:
    """The best of some rounds of a bare loop over one batch."""
    _, data, rows, step, state = _prepared(config, placement)
    batch, best = data.train.on_devices(0, rows), float("inf")
    for _ in range(ROUNDS + 1):
        begun = time.perf_counter()
        for _ in range(STEPS):
            state, metrics = step(state, batch)
        jax.block_until_ready(metrics)
        best = min(best, (time.perf_counter() - begun) / STEPS)
    return best


def _loop() -> Figure:
    """Loop and bare loop by turns, so that what else runs here meets both."""
    config = replace(_config(), eval_every=None, steps=STEPS, checkpoint_every=STEPS, report_every=5)
    config = replace(config, optimizer=replace(config.optimizer, warmup_steps=2))
    _, data, rows, step, state = _prepared(config, on())
    batch, ratios = data.train.on_devices(0, rows), []
    reporter = Reporter(Spool(Path(os.devnull)), 0)
    carried = [state]

    def kept(state: Any, batch: Any) -> Any:
        carried[0], metrics = step(state, batch)
        return carried[0], metrics

    for _ in range(2 * ROUNDS):
        begun = time.perf_counter()
        for _ in range(STEPS):
            carried[0], metrics = step(carried[0], batch)
        jax.block_until_ready(metrics)
        bare = time.perf_counter() - begun
        loop = Loop(config, kept, NoCheckpoints(), data.train, rows, reporter)
        begun = time.perf_counter()
        loop.train(carried[0], 0, None)
        ratios.append((time.perf_counter() - begun) / bare)
    how = f"median of {2 * ROUNDS} turns of {STEPS} steps with data, metrics and reports every 5th, without saves"
    return at_most("trainer.loop_overhead", float(np.median(ratios)), 1.03, "times", how)


def _against_torch() -> Iterator[Figure]:
    if PEERS is None:
        sys.stderr.write("not measured: trainer.torch_ratio (PODWRIGHT_PEERS names no interpreter with torch)\n")
        return
    script = Path(__file__).with_name("torch_step.py")
    ratios = []
    for _ in range(3):
        ran = subprocess.run([PEERS, str(script)], check=True, capture_output=True, text=True)
        ratios.append(float(ran.stdout) / _step_s(replace(_config(), eval_every=None), on()))
    ratio = float(np.median(ratios))
    how = (
        f"tokens/s against PyTorch eager, same sizes and batch, turns of three: {', '.join(f'{r:.2f}' for r in ratios)}"
    )
    yield Figure("trainer.torch_ratio", ratio, "times", "at least 0.55", ratio >= 0.55, how)


def _eight_devices() -> Figure:
    raw = _config()
    # An even batch and vocabulary: 12 rows and 65 characters do not split over these axes.
    config = replace(raw, eval_every=None, model=replace(raw.model, V=66), data=replace(raw.data, batch=16))
    one, eight = (_step_s(config, placement) for placement in (on(), on(data=2, fsdp=2, tensor=2)))
    how = f"{eight * 1000:.1f} ms against {one * 1000:.1f} ms a step, batch 16, eight devices (2,2,2) on these cores"
    return at_most("trainer.eight_devices", eight / one, 1.5, "times", how)


if __name__ == "__main__":
    missed = False
    for figure in figures():
        sys.stdout.write(figure.line() + "\n")
        sys.stdout.flush()
        missed |= not figure.met
    sys.exit(missed)
