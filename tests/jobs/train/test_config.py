"""The config of `train`: what is refused, in which words, and what each preset amounts to."""

from __future__ import annotations

import pytest

from orchestrator.domain.programs import PROGRAMS
from orchestrator.domain.programs.presets import TRAIN_PRESETS
from orchestrator.domain.programs.train import Compute, MeshConfig, OptimizerConfig, TrainConfig, parse


def test_the_program_is_found_by_name_and_nothing_given_is_the_tiny_preset():
    assert PROGRAMS["train"]({}) == TrainConfig(preset="tiny")


def test_keys_go_over_the_preset():
    config = parse(
        {"preset": "small", "steps": 7000, "model": {"L": 3, "compute": "bfloat16"}, "data": {"paths": ["a"]}}
    )
    assert (config.preset, config.steps, config.model.L, config.model.D) == ("small", 7000, 3, 768)
    assert (config.model.compute, config.data.paths, config.data.batch) == (Compute.BFLOAT16, ("a",), 64)


@pytest.mark.parametrize("preset", TRAIN_PRESETS)
def test_every_preset_is_valid(preset):
    assert parse({"preset": preset}).preset == preset


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stpes": 5}, "config.stpes is not a setting; did you mean 'steps'?"),
        ({"model": {"width": 5}}, "config.model.width is not a setting; known keys: T, D, H, L, F, compute"),
        ({"model": {"D": 100, "H": 12}}, "config.model: D=100 is not divisible by H=12"),
        (
            {"model": {"D": 36, "H": 12}},
            "config.model: D=36 over H=12 heads is 3 wide: rotary positions need an even width",
        ),
        ({"model": {"L": 0}}, "config.model: L=0 must be more than 0"),
        ({"model": {"compute": "int8"}}, "config.model.compute='int8' is not one of auto, float32, bfloat16"),
        ({"steps": "5"}, "config.steps='5' is not of type int"),
        ({"steps": True}, "config.steps=True is not of type int"),
        ({"steps": 20}, "config: steps=20 must be more than warmup_steps=20"),
        ({"seed": -1}, "config: seed=-1 must not be negative"),
        ({"preset": "huge"}, "config.preset='huge' is not one of tiny, small, base"),
        ({"model": 5}, "config.model must be a mapping, not 5"),
        ({"data": {"paths": "a.txt"}}, "config.data.paths must be a list, not 'a.txt'"),
        ({"optimizer": {"b2": 1}}, "config.optimizer: b2=1.0 is not within 0 and 1"),
        ({"optimizer": {"weight_decay": -0.1}}, "config.optimizer: weight_decay=-0.1 must not be negative"),
        ({"optimizer": {"learning_rate": float("nan")}}, "config.optimizer: learning_rate=nan must be more than 0"),
        ({"optimizer": {"decay_steps": 9}}, "config.optimizer: decay_steps=9 must be more than warmup_steps=20"),
        ([], "config must be a mapping, not []"),
    ],
)
def test_what_does_not_fit_is_named(given, message):
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # the whole message is compared
        parse(given)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("mesh", "devices", "shape"),
    [
        (MeshConfig(), 8, (1, 8, 1)),
        (MeshConfig(), 1, (1, 1, 1)),
        (MeshConfig(data=2, tensor=2), 16, (2, 4, 2)),
        (MeshConfig(data=2, fsdp=4), 8, (2, 4, 1)),
    ],
)
def test_a_mesh_takes_all_devices(mesh, devices, shape):
    assert mesh.shape(devices) == shape


def test_a_mesh_that_leaves_devices_out_is_refused():
    with pytest.raises(ValueError, match="a mesh of data=3 x fsdp=2 x tensor=1 does not use 8 devices"):
        MeshConfig(data=3).shape(8)


def test_a_schedule_may_be_longer_than_the_run():
    config = TrainConfig(steps=5, optimizer=OptimizerConfig(warmup_steps=2, decay_steps=10))
    assert config.schedule_steps == 10
