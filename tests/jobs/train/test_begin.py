"""Where a run begins: weights of another job's checkpoint; adapters on weights that stay as they are."""

from __future__ import annotations

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest
from pydantic import TypeAdapter

from jobs.train import begin, lora, weights
from jobs.train.export import export
from jobs.train.step import Trainer, compile_evaluation, compile_step
from orchestrator.domain.faults import SpecError
from orchestrator.domain.programs.train import (
    FeedForwardKind,
    InitFrom,
    Layers,
    LoraConfig,
    Output,
    TrainConfig,
)
from tests.jobs.train.machine import TRAIN, a_config, on, start, tokens_of
from workers.rank import manifest
from workers.rank.checkpoint import step_of_job
from workers.rank.context import RankContext
from workers.rank.failure import InvalidProgram, NothingRestorable
from workers.rank.manifest import Commit
from workers.rank.progress import Reporter, Spool
from workers.storage import open_storage

OTHERS = "job_1/1/5"
LLAMA = {"L": 2, "kv_heads": 2, "feed_forward": FeedForwardKind.SWIGLU, "output": Output.FREE, "scale_embedding": False}


def saved(root, config):
    """A step of another job, as Orbax writes it; its parameters."""
    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(root / OTHERS / "state", start(config))
    return start(config).params


def same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_a_job_begins_from_the_weights_of_another_jobs_step_with_a_fresh_optimizer(tmp_path):
    theirs = saved(tmp_path, replace(TRAIN, seed=5))
    trainer = Trainer(replace(TRAIN, init_from=InitFrom(checkpoint=OTHERS)), on(fsdp=4))
    state = begin.state(trainer, trainer.abstract(), lambda path: str(tmp_path / path))
    same(state.params, theirs)
    assert state.params["embedding_VD"].sharding == trainer.abstract().params["embedding_VD"].sharding
    assert int(state.step) == 0
    assert float(jnp.abs(state.optimizer[1][0].mu["embedding_VD"]).sum()) == 0


@pytest.mark.parametrize("model", [{"F": 64}, {"qk_norm": True}])
def test_weights_of_another_model_are_refused(tmp_path, model):
    saved(tmp_path, TRAIN)
    trainer = Trainer(replace(a_config(**model), init_from=InitFrom(checkpoint=OTHERS)), on())
    with pytest.raises(InvalidProgram, match=r"another model's weights: they differ in blocks\.0\."):
        begin.state(trainer, trainer.abstract(), lambda path: str(tmp_path / path))


def test_a_step_of_another_job_lies_beside_this_jobs_and_is_proven_intact(tmp_path):
    context = RankContext(
        "job_2", "attempt", 1, 0, 1, "slice-a", "slice-a/0", "127.0.0.1:1", tmp_path / "spool", str(tmp_path / "job_2")
    )
    reporter = Reporter(Spool(context.spool), 0)
    with pytest.raises(NothingRestorable, match=f"{OTHERS}, whose weights this job begins from"):
        step_of_job(context, reporter, OTHERS)
    (tmp_path / OTHERS).mkdir(parents=True)
    (tmp_path / OTHERS / "file").write_bytes(b"content")
    manifest.write(open_storage(str(tmp_path / "job_1")), Commit(1, 5))
    assert step_of_job(context, reporter, OTHERS) == str(tmp_path / OTHERS)


@pytest.fixture(scope="module")
def adapted(tmp_path_factory):
    """(config with adapters on scanned blocks, the folder of all jobs, the weights that they are added to)"""
    root = tmp_path_factory.mktemp("jobs")
    config = a_config(**LLAMA, layers=Layers.SCANNED)
    base = saved(root, config)
    optimizer = replace(config.optimizer, learning_rate=1e-2, warmup_steps=1)
    return replace(config, optimizer=optimizer, lora=LoraConfig(2), init_from=InitFrom(checkpoint=OTHERS)), root, base


def trained(config, root, placement):
    """The state after four steps, the losses before and in them, and the weights that adapters were added to."""
    trainer = Trainer(config, placement)
    target, source = trainer.abstract(), lambda path: str(root / path)
    base = begin.weights(config, trainer.base, source)
    batch = jax.device_put(tokens_of(config), placement.sharding(("batch", None)))
    state, step = begin.state(trainer, target, source), compile_step(trainer, target, batch, base)
    sums = compile_evaluation(trainer, target, batch, base)(state.params, batch)
    losses = [float(sums.entropy / sums.count)]
    for _ in range(4):
        state, metrics = step(state, batch)
        losses.append(float(metrics["loss"]))
    return state, losses, base


@pytest.fixture(scope="module")
def alone(adapted):
    return trained(*adapted[:2], on())


def test_adapters_begin_as_the_weights_alone_and_learn_while_these_stay(adapted, alone):
    (config, _, theirs), (state, losses, base) = adapted, alone
    plain = Trainer(replace(config, lora=None, init_from=None), on())
    sums = jax.jit(plain.evaluate)(theirs, tokens_of(config))
    np.testing.assert_allclose(losses[:2], [float(sums.entropy / sums.count)] * 2, rtol=1e-6)
    assert losses[4] < losses[3] < losses[2] == losses[1]  # the rate begins at 0
    same(base, theirs)
    assert len(state.params) == 7


def test_on_a_mesh_adapters_compute_the_same_and_lie_like_their_weights(adapted, alone):
    state, losses, _ = trained(*adapted[:2], on(fsdp=2, tensor=2))
    np.testing.assert_allclose(losses, alone[1], rtol=1e-5)
    A, B = (state.params["blocks-0-attention-q_DHK"][part] for part in "AB")
    assert [each.size // each.addressable_shards[0].data.size for each in (A, B)] == [2, 2]


def test_export_merges_them_into_the_weights(adapted, alone, tmp_path):
    (config, root, theirs), state = adapted, alone[0]
    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(root / "job_2" / "1" / "4" / "state", state)
    ours, whole = (
        sum(file.stat().st_size for file in (root / job).rglob("*") if file.is_file()) for job in ("job_2", "job_1")
    )
    assert ours < whole
    (tmp_path / "config.json").write_bytes(TypeAdapter(TrainConfig).dump_json(config))
    export(tmp_path / "config.json", root / "job_2" / "1" / "4", tmp_path / "out")
    found = weights.read(tmp_path / "out", config.model, Trainer(config, on()).base)
    q_LDHK, adapter = theirs["blocks"][0]["attention"]["q_DHK"], state.params["blocks-0-attention-q_DHK"]
    expected = q_LDHK + 2.0 * np.einsum("LDR,LRHK->LDHK", adapter["A"], adapter["B"])
    np.testing.assert_allclose(found["blocks"][0]["attention"]["q_DHK"], expected, rtol=1e-5, atol=1e-6)
    assert not np.allclose(expected, q_LDHK)
    np.testing.assert_array_equal(found["embedding_VD"], theirs["embedding_VD"])


def test_each_matrix_gets_the_product_of_its_own_rows_and_columns():
    axes = Trainer(a_config(**LLAMA), on()).axes
    random = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: random.normal(size=leaf.shape), start(a_config(**LLAMA)).params)
    adapters = lora.draw(LoraConfig(2), axes, params, jax.random.key(0))
    adapters = jax.tree.map(lambda leaf: random.normal(size=leaf.shape), adapters)
    found = lora.merged(LoraConfig(2, scale=3.0), axes, params, adapters)["blocks"][1]
    for branch, name, letters in (
        ("attention", "k_DGK", "DR,RGK->DGK"), ("attention", "out_HKD", "HKR,RD->HKD"), ("ffn", "down_FD", "FR,RD->FD"),
    ):  # fmt: skip
        pair = adapters[f"blocks-1-{branch}-{name}"]
        expected = params["blocks"][1][branch][name] + 3.0 * np.einsum(letters, pair["A"], pair["B"])
        np.testing.assert_allclose(found[branch][name], expected, rtol=1e-5, atol=1e-5)


def test_the_tokenizers_files_are_exported(tmp_path):
    config = a_config(**LLAMA)
    (tmp_path / "tokenizer").mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "unrelated.txt"):
        (tmp_path / "tokenizer" / name).write_text(name)
    written = json.loads(TypeAdapter(TrainConfig).dump_json(config))
    written["data"] |= {"tokenizer": "hf", "tokenizer_path": str(tmp_path / "tokenizer" / "tokenizer.json")}
    (tmp_path / "config.json").write_text(json.dumps(written))
    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "1" / "5" / "state", start(config))
    export(tmp_path / "config.json", tmp_path / "1" / "5", tmp_path / "out")
    copied = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == copied


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InitFrom(), "give either hf or checkpoint"),
        (lambda: InitFrom("a", "job_1/1/5"), "give either hf or checkpoint"),
        (lambda: InitFrom(checkpoint="../1/5"), "write <job id>/<attempt>/<step>, got '../1/5'"),
        (lambda: TrainConfig(lora=LoraConfig()), "lora needs init_from"),
    ],
)
def test_a_beginning_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(SpecError, match=message):
        make()
