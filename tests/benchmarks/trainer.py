"""The trainer's figures on this CPU: one JSON line each. `make bench FIGURE=trainer`, or one: `FIGURE=trainer.loop`.

The text comes from PODWRIGHT_SHAKESPEARE, by default ../shared/data/tinyshakespeare.txt; PyTorch from the interpreter
that PODWRIGHT_PEERS names, by default that of `make peers`. Without them their figures are not measured. Minutes on two
free cores: loss 10, loop 1, torch 2, devices 1, processes 2.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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
PEERS = Path(os.environ.get("PODWRIGHT_PEERS", ".venv-peers/bin/python"))
ROUNDS, STEPS = 5, 40


def figures(names: list[str]) -> Iterator[Figure]:
    """Of these names; of all without any."""
    for name in names or list(_FIGURES):
        needed = PEERS if name == "torch" else TEXT
        if not (needed.is_file() and TEXT.is_file()):
            sys.stderr.write(f"not measured: trainer.{name} ({needed} is not there)\n")
            continue
        yield _FIGURES[name]()


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
    raw = _config()
    config = replace(
        raw, eval_every=None, steps=STEPS, checkpoint_every=STEPS, report_every=5,
        optimizer=replace(raw.optimizer, warmup_steps=2),
    )  # fmt: skip
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


def _against_torch() -> Figure:
    script, ratios = Path(__file__).with_name("torch_step.py"), []
    for _ in range(3):
        ran = subprocess.run([PEERS, str(script)], check=True, capture_output=True, text=True, timeout=300)
        ratios.append(float(ran.stdout) / _step_s(replace(_config(), eval_every=None), on()))
    ratio = float(np.median(ratios))
    how = (
        f"tokens/s against PyTorch eager, same sizes and batch, turns of three: {', '.join(f'{r:.2f}' for r in ratios)}"
    )
    return Figure("trainer.torch_ratio", ratio, "times", "at least 0.55", ratio >= 0.55, how)


def _eight_devices() -> Figure:
    raw = _config()
    # An even batch and vocabulary: 12 rows and 65 characters do not split over these axes.
    config = replace(raw, eval_every=None, model=replace(raw.model, V=66), data=replace(raw.data, batch=16))
    one, eight = (_step_s(config, placement) for placement in (on(), on(data=2, fsdp=2, tensor=2)))
    how = f"{eight * 1000:.1f} ms against {one * 1000:.1f} ms a step, batch 16, eight devices (2,2,2) on these cores"
    return at_most("trainer.eight_devices", eight / one, 1.5, "times", how)


def _two_processes() -> Figure:
    """Two ranks of one device each, joined over gloo, against one of one: `fsdp` splits the model between them."""
    ratios = []
    for _ in range(3):
        one, two = (_gang_step_s(ranks) for ranks in (1, 2))
        ratios.append(two / one)
    how = (
        "a step of two processes over gloo, fsdp=2, one thread each, against one process, batch 16; turns of three: "
        f"{', '.join(f'{r:.2f}' for r in ratios)}"
    )
    return at_most("trainer.two_processes", float(np.median(ratios)), 3.0, "times", how)


def _gang_step_s(ranks: int) -> float:
    """Seconds of a step, by rank 0, of `ranks` processes that run `gang_step`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, "-m", "tests.benchmarks.gang_step", str(TEXT), coordinator, str(ranks)]
    gang = [subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True) for rank in range(ranks)]
    try:
        said = [rank.communicate(timeout=180)[0] for rank in gang]
    finally:
        for rank in gang:
            rank.kill()
            rank.wait()
    if any(rank.returncode for rank in gang):
        raise RuntimeError(f"a rank of {ranks} failed")
    return float(said[0].splitlines()[-1])  # gloo prints, too


_FIGURES: dict[str, Callable[[], Figure]] = {
    "loop": _loop,
    "devices": _eight_devices,
    "processes": _two_processes,
    "torch": _against_torch,
    "loss": _loss,
}


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(_FIGURES):
        sys.exit(f"no such figure: {', '.join(sorted(unknown))}; there are {', '.join(_FIGURES)}")
    missed = False
    for figure in figures(sys.argv[1:]):
        sys.stdout.write(figure.line() + "\n")
        sys.stdout.flush()
        missed |= not figure.met
    sys.exit(missed)
