"""What compiler and data do behind one's back is said: a second compilation, and a step that waits for input."""

from __future__ import annotations

import numpy as np

from jobs.train.compiled import Compiled
from jobs.train.speed import Speed
from orchestrator.domain.programs.train import TrainConfig
from tests.jobs.train.machine import on


def batch_of(width):
    import jax

    return {"tokens": jax.device_put(np.zeros((2, width), np.int32), on().sharding(("batch", None)))}


def test_another_shape_is_compiled_for_and_named_and_the_first_is_kept(caplog):
    asked = []

    def compile(batch):
        asked.append(batch["tokens"].shape)
        return lambda state, batch: (state + 1, {"width": batch["tokens"].shape[1]})

    step = Compiled(compile, batch_of(5))
    assert [step(0, batch_of(width))[1]["width"] for width in (5, 5, 3, 5, 3)] == [5, 5, 3, 5, 3]
    assert (asked, step.programs) == ([(2, 5), (2, 3)], 2)
    assert caplog.messages == ["compiling again: batch['tokens'] is int32[2, 3], was int32[2, 5]"]


def test_a_step_that_waits_for_its_batch_is_said_once_until_it_recovers(caplog):
    clock = [0.0]
    speed = Speed(TrainConfig(), now=lambda: clock[0])
    speed.begin(0)

    def steps_to(step, seconds, waited):
        clock[0] += seconds
        speed.waited(waited)
        return speed.report(step)

    assert steps_to(10, 1.0, 0.1)["input_ms"] == 10
    assert caplog.messages == []
    values = steps_to(20, 1.0, 0.9)
    assert (round(values["step_ms"]), round(values["input_ms"])) == (100, 90)
    steps_to(30, 1.0, 0.9)
    assert caplog.messages == [
        "step 20: starved of input: 90.0 of each step's 100.0 ms were spent waiting for its batch"
    ]


def test_the_time_of_a_pause_is_no_steps():
    clock = [0.0]
    speed = Speed(TrainConfig(), now=lambda: clock[0])
    speed.begin(0)
    clock[0] = 5.0
    speed.outside(4.0)
    values = speed.report(10)
    assert values["step_ms"] == 100
    assert values["tokens_per_second"] == 16 * 64 * 10
    assert "mfu" not in values
