"""The loop's order of things: what is saved, what is reported, and that nothing made of a NaN is kept."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from jobs.train.data import Batches
from jobs.train.layout import Placement, make_mesh
from jobs.train.loop import Loop
from jobs.train.samples import Windows
from orchestrator.domain.programs.train import DataConfig, MeshConfig, ModelConfig, OptimizerConfig, TrainConfig
from workers.rank.failure import NanLoss
from workers.rank.progress import Reporter, Spool


@dataclass
class MemoryCheckpoints:
    """Keeps the steps that were saved."""

    saved: list[int] = field(default_factory=list)

    def save(self, step, state, position, step_at_ms):
        assert position["step"] == step
        assert state == step
        self.saved.append(step)


def a_loop(path, checkpoints, nan_at=None, name="loss"):
    """A loop over a step that counts and, at step `nan_at`, yields one metric that is not a number."""
    config = TrainConfig(
        steps=10, checkpoint_every=4, report_every=3, model=ModelConfig(T=4), data=DataConfig(8, max_bytes=1000),
        optimizer=OptimizerConfig(warmup_steps=1),
    )  # fmt: skip

    def step(state, _tokens):
        values = {"loss": 1.0, "grad_norm": 1.0}
        if state + 1 == nan_at:
            values[name] = math.nan
        return state + 1, values

    batches = Batches(Windows(np.zeros(1000, np.uint8), 5), seed=0, rows=8, width=5)
    rows = Placement(make_mesh(MeshConfig())).sharding(("batch", None))
    return Loop(config, step, checkpoints, batches, rows, Reporter(Spool(path), 0))


def steps_of(path, kind):
    records = map(json.loads, path.read_text().splitlines())
    return [record["step"] for record in records if record["type"] == kind]


def test_it_saves_every_nth_step_and_the_last_and_reports_completed_steps(tmp_path):
    checkpoints = MemoryCheckpoints()
    assert a_loop(tmp_path / "spool", checkpoints).train(0, begin=0, checkpoint_every=None) is True
    assert checkpoints.saved == [4, 8, 10]
    assert steps_of(tmp_path / "spool", "metrics") == [3, 6, 9, 10]
    assert steps_of(tmp_path / "spool", "progress") == [0, 3, 6, 9, 10]


def test_it_goes_on_from_where_it_is_told_and_saves_as_often_as_the_job_asks(tmp_path):
    checkpoints = MemoryCheckpoints()
    a_loop(tmp_path / "spool", checkpoints).train(5, begin=5, checkpoint_every=2)
    assert checkpoints.saved == [6, 8, 10]
    assert steps_of(tmp_path / "spool", "progress")[0] == 5


def test_a_run_that_is_already_complete_does_nothing(tmp_path):
    checkpoints = MemoryCheckpoints()
    assert a_loop(tmp_path / "spool", checkpoints).train(10, begin=10, checkpoint_every=None) is True
    assert checkpoints.saved == []


@pytest.mark.parametrize("name", ["loss", "grad_norm"])
@pytest.mark.parametrize(("nan_at", "saved"), [(3, []), (4, []), (8, [4])])
def test_a_nan_ends_it_before_the_state_is_saved(tmp_path, name, nan_at, saved):
    checkpoints = MemoryCheckpoints()
    with pytest.raises(NanLoss, match=f"{name} became nan at step {nan_at}"):
        a_loop(tmp_path / "spool", checkpoints, nan_at, name).train(0, begin=0, checkpoint_every=None)
    assert checkpoints.saved == saved
    assert steps_of(tmp_path / "spool", "metrics")[-1] == nan_at
