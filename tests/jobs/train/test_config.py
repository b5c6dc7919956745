"""The config of `train`: what is refused, in which words, and what each preset amounts to."""

from __future__ import annotations

import json

import pytest

from jobs.train.config import parse
from orchestrator.domain.faults import SpecError
from orchestrator.domain.programs import fill_in
from orchestrator.domain.programs.train import Compute, MeshConfig, OptimizerConfig, TrainConfig
from tests.jobs.train import presets
from workers.rank.failure import InvalidProgram


def test_nothing_written_is_the_tiny_preset():
    assert fill_in("train", {"preset": "tiny"}) == {}
    assert parse("{}") == TrainConfig()


def test_keys_go_over_the_preset():
    written = {"preset": "small", "steps": 7000, "model": {"L": 3, "compute": "bfloat16"}, "data": {"paths": ["a"]}}
    config = parse(json.dumps(fill_in("train", written)))
    assert (config.steps, config.model.L, config.model.D) == (7000, 3, 768)
    assert (config.model.compute, config.data.paths, config.data.batch) == (Compute.BFLOAT16, ("a",), 64)
    assert written["preset"] == "small"


def test_what_each_preset_amounts_to_is_what_was_reviewed():
    """After a change that is meant: python -m tests.jobs.train.presets"""
    assert json.loads(presets.FILE.read_text()) == presets.whole()


@pytest.mark.parametrize(
    ("preset", "billions"),
    [("gpt-1b", 1.3), ("llama-1b", 1.24), ("llama-8b", 8.03), ("gemma-like-2b", 2.61), ("tiny", 0.00025)],
)
def test_presets_have_the_size_they_are_named_for(preset, billions):
    config = parse(json.dumps(presets.whole()[preset]))
    assert config.model.parameters == pytest.approx(billions * 1e9, rel=0.03)


@pytest.mark.parametrize("preset", ["huge", ["tiny"], None])
def test_a_preset_that_is_not_there_is_refused_with_those_that_are(preset):
    with pytest.raises(SpecError, match="is not a preset; there are tiny, shakespeare-char, small"):
        fill_in("train", {"preset": preset})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"preset": "tiny"}, "config.preset: Unexpected keyword argument"),
        ({"model": {"D": 100, "H": 12}}, "config.model.D: D=100 is not divisible by H=12"),
        (
            {"model": {"D": 36, "H": 12}},
            "config.model.D: D=36 over H=12 heads is 3 wide: rotary positions need an even width",
        ),
        ({"model": {"H": 4, "kv_heads": 3}}, "config.model.kv_heads: H=4 is not divisible by kv_heads=3"),
        ({"model": {"global_every": 2}}, "config.model.global_every: global_every means nothing without a window"),
        ({"loss": {"chunks": 5}}, "config.loss.chunks: T=64 is not divisible by chunks=5"),
        ({"optimizer": {"accumulate": 3}}, "config.optimizer.accumulate: batch=16 is not divisible by accumulate=3"),
        ({"eval_every": 5}, "config.eval_every: eval_every needs data.eval_paths or data.eval_fraction"),
        ({"data": {"source": "jsonl"}}, "config.data.paths: source=jsonl needs paths"),
        ({"model": {"V": 65}}, "config.model.V: V=65 is less than the 256 that tokenizer=bytes makes"),
        ({"model": {"L": 0}}, "config.model.L: L=0 must be more than 0"),
        ({"steps": "5"}, "config.steps: Input should be a valid integer"),
        ({"steps": 20}, "config.steps: steps=20 must be more than warmup_steps=20"),
        ({"seed": -1}, "config.seed: seed=-1 must not be negative"),
        ({"optimizer": {"b2": 1}}, "config.optimizer.b2: b2=1.0 is not within 0 and 1"),
        (
            {"optimizer": {"weight_decay": -0.1}},
            "config.optimizer.weight_decay: weight_decay=-0.1 must not be negative",
        ),
        (
            {"optimizer": {"decay_steps": 9}},
            "config.optimizer.decay_steps: decay_steps=9 must be more than warmup_steps=20",
        ),
    ],
)
def test_what_does_not_fit_is_named(given, message):
    with pytest.raises(InvalidProgram) as refused:
        parse(json.dumps(given))
    assert str(refused.value) == message


def test_a_number_that_is_none_is_refused():
    with pytest.raises(SpecError, match="learning_rate=nan must be more than 0"):
        OptimizerConfig(learning_rate=float("nan"))


@pytest.mark.parametrize(
    ("mesh", "devices", "shape"),
    [
        (MeshConfig(), 8, (1, 8, 1, 1, 1, 1)),
        (MeshConfig(), 1, (1, 1, 1, 1, 1, 1)),
        (MeshConfig(data=2, tensor=2), 16, (2, 4, 1, 1, 1, 2)),
        (MeshConfig(fsdp=2, fsdp_across=4), 8, (1, 2, 4, 1, 1, 1)),
        (MeshConfig(data=None, fsdp=1, sequence=2), 8, (4, 1, 1, 1, 2, 1)),
    ],
)
def test_a_mesh_takes_all_devices(mesh, devices, shape):
    assert mesh.shape(devices) == shape


def test_a_mesh_that_leaves_devices_out_is_refused():
    with pytest.raises(ValueError, match="a mesh of data=3 x fsdp=2 does not use 8 devices"):
        MeshConfig(data=3).shape(8)


def test_a_schedule_may_be_longer_than_the_run():
    config = TrainConfig(steps=5, optimizer=OptimizerConfig(warmup_steps=2, decay_steps=10))
    assert config.schedule_steps == 10
