"""Seconds of one training step on one device per process: `gang_step TEXT COORDINATOR RANKS RANK` prints a number."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax

from jobs.train.compiled import Compiled
from jobs.train.config import parse
from jobs.train.data import Data
from jobs.train.loop import place
from jobs.train.step import Trainer, compile_step, initialise
from orchestrator.domain.programs import fill_in

ROUNDS, STEPS = 4, 20


def main(text: str, coordinator: str, ranks: int, rank: int) -> float:
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", 1)
    jax.distributed.initialize(coordinator, ranks, rank, cluster_detection_method="deactivate")
    config = parse(json.dumps(fill_in("train", {"preset": "shakespeare-char"})))
    # An even batch and vocabulary: 12 rows and 65 characters do not split.
    data = replace(config.data, batch=16, paths=(str(Path(text).resolve()),))
    config = replace(config, eval_every=None, model=replace(config.model, V=66), data=data)
    placement = place(config)
    trainer, batches, rows = Trainer(config, placement), Data.of(config).train, placement.sharding(("batch", None))
    target = trainer.abstract()
    step, state = Compiled(partial(compile_step, trainer, target), batches.shapes(rows)), initialise(trainer, target)
    batch, best = batches.on_devices(0, rows), float("inf")
    for _ in range(ROUNDS + 1):
        begun = time.perf_counter()
        for _ in range(STEPS):
            state, metrics = step(state, batch)
        jax.block_until_ready(metrics)
        best = min(best, (time.perf_counter() - begun) / STEPS)
    jax.distributed.shutdown()
    return best


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))}\n")
