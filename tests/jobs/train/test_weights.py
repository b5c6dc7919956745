"""Parity: logits and gradients of Hugging Face's Llama and Gemma 2, computed by our model from their weights."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax import nnx
from pydantic import TypeAdapter
from safetensors.numpy import save_file

from jobs.train import begin, weights
from jobs.train.export import export
from jobs.train.loss import next_token_sums
from jobs.train.model import Transformer
from jobs.train.step import Trainer, initialise
from orchestrator.domain.programs.train import (
    DataConfig,
    FeedForwardKind,
    InitFrom,
    Layers,
    ModelConfig,
    NormAt,
    Output,
    RotaryScaling,
    Source,
    TrainConfig,
)
from tests.jobs.train import parity
from tests.jobs.train.machine import TRAIN, on
from workers.rank.failure import InvalidProgram

SIZES = ModelConfig(T=12, D=16, H=4, L=2, F=24, V=24, kv_heads=2, head_width=4, norm_epsilon=1e-5)
FAMILIES = {
    "llama": replace(
        SIZES, feed_forward=FeedForwardKind.SWIGLU, output=Output.FREE, scale_embedding=False,
        rotary_scaling=RotaryScaling(original=8),
    ),
    "gemma2": replace(
        SIZES, feed_forward=FeedForwardKind.GEGLU, norm_at=NormAt.BOTH, window=4, global_every=2, query_width=10.0,
        attention_cap=5.0, logit_cap=3.0,
    ),
}  # fmt: skip
PLACE = on()


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture
def folder(family, tmp_path):
    """A checkpoint as Hugging Face would write it."""
    config, shapes = FAMILIES[family], {}
    target = Trainer(config_of(config), PLACE).abstract().params
    for entry in weights.entries(config):
        leaf = np.zeros(weights._at(target, entry.path).shape)
        for name in entry.names:
            shapes[name] = entry.form.theirs(leaf, config).shape
    save_file(parity.weights_of(shapes), tmp_path / "model.safetensors")
    return tmp_path


def config_of(model: ModelConfig, **keys) -> TrainConfig:
    data = DataConfig(batch=8, source=Source.TOKENS, paths=("not-read.bin",))
    return replace(TRAIN, model=model, data=data, **keys)


def loss_and_logits(config: TrainConfig, params):
    tokens = jnp.asarray(parity.TOKENS)

    def loss(params):
        model = nnx.eval_shape(lambda: Transformer(config.model, nnx.Rngs(params=0)))
        nnx.update(model, params)
        x_BTD = model(tokens[:, :-1], PLACE).x_BTD
        sums = next_token_sums(x_BTD, tokens[:, 1:], None, lambda x: model.logits(x, PLACE), config.loss)
        return sums.mean(config.loss), model.logits(x_BTD, PLACE)

    return jax.jit(jax.value_and_grad(loss, has_aux=True))(params)


@pytest.mark.parametrize("layers", Layers)
def test_logits_and_gradients_are_those_of_hugging_face(family, folder, layers):
    config = config_of(replace(FAMILIES[family], layers=layers))
    if layers is Layers.SCANNED:
        assert len(list(weights.entries(config.model))) < len(list(weights.entries(FAMILIES[family]))) + 1
    golden = np.load(Path(parity.__file__).with_name(parity.FILE.format(family)))
    params = weights.read(folder, config.model, Trainer(config, PLACE).abstract().params)
    (loss, logits), grads = loss_and_logits(config, params)
    np.testing.assert_allclose(logits, golden["logits"], atol=1e-4)
    np.testing.assert_allclose(loss, golden["loss"], atol=1e-5)
    compared = 0
    for entry in weights.entries(config.model):
        ours = np.asarray(weights._at(grads, entry.path))
        for name, part in zip(entry.names, ours if entry.stacked else ours[None], strict=True):
            # A norm's gradient is the same whether it is kept above 1 or not.
            theirs = part if entry.path[-1] == "scale" else entry.form.theirs(part, config.model)
            np.testing.assert_allclose(theirs, golden[f"grad/{name}"], atol=1e-4, err_msg=name)
            compared += 1
    assert compared == len([name for name in golden if name.startswith("grad/")])


def test_what_is_written_reads_back_bit_for_bit_and_transformers_computes_the_same(family, folder, tmp_path):
    config = config_of(FAMILIES[family])
    target = Trainer(config, PLACE).abstract().params
    params = weights.read(folder, config.model, target)
    out = tmp_path / "written"
    weights.write(out, config.model, params)
    again = weights.read(out, config.model, target)
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7), params, again)
    if (peers := os.environ.get("PODWRIGHT_PEERS")) is None:
        pytest.skip("PODWRIGHT_PEERS names no interpreter with transformers")
    ran = subprocess.run([peers, parity.__file__, "logits", str(out)], check=True, capture_output=True, text=True)
    np.testing.assert_allclose(json.loads(ran.stdout), loss_and_logits(config, params)[0][1], atol=1e-4)


def test_bfloat16_weights_and_an_index_of_many_files_are_read(tmp_path):
    config = FAMILIES["llama"]
    save_file({"a": np.array([1.5], ml_dtypes.bfloat16)}, tmp_path / "one.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "one.safetensors"}}))
    with weights._Folder(tmp_path) as tensors:
        assert tensors.get("a").tolist() == [1.5]
    with pytest.raises(InvalidProgram, match=r"model\.embed_tokens\.weight"):
        weights.read(tmp_path, config, Trainer(config_of(config), PLACE).abstract().params)


def test_a_job_begins_from_such_weights_with_a_fresh_optimizer(family, folder):
    config = config_of(FAMILIES[family], init_from=InitFrom(hf=str(folder)))
    trainer = Trainer(config, PLACE)
    state = begin.state(trainer, trainer.abstract(), str)
    assert int(state.step) == 0
    tensors = parity.weights_of({"model.norm.weight": (16,)})
    assert state.params["final_norm"]["scale"].shape == tensors["model.norm.weight"].shape
    expected = weights.read(folder, config.model, trainer.abstract().params)
    np.testing.assert_array_equal(state.params["embedding_VD"], expected["embedding_VD"])


@pytest.mark.parametrize("layers", Layers)
def test_a_committed_step_is_exported(tmp_path, layers):
    config = config_of(replace(FAMILIES["llama"], layers=layers))
    trainer = Trainer(config, PLACE)
    state = initialise(trainer, trainer.abstract())
    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "5" / "state", state)
    (tmp_path / "config.json").write_bytes(TypeAdapter(TrainConfig).dump_json(config))
    export(tmp_path / "config.json", tmp_path / "5", tmp_path / "out")
    found = weights.read(tmp_path / "out", config.model, trainer.abstract().params)
    jax.tree.map(np.testing.assert_array_equal, found, state.params)


def test_a_model_that_they_do_not_have_is_refused():
    with pytest.raises(InvalidProgram, match="neither a Llama nor a Gemma 2"):
        weights.family_of(ModelConfig())
