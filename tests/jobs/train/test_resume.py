"""Resuming: the same numbers as without the interruption, from the newest step that is intact."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workers.host import notice
from workers.rank.failure import EXIT_PREEMPTED

pytestmark = pytest.mark.timeout(400)  # three gangs in a row, each with its own deadline

# Small enough that a gang of two starts, compiles and runs in some seconds.
TINY = {
    "checkpoint_every": 5,
    "report_every": 1,
    "model": {"T": 16, "D": 32, "H": 2, "L": 1, "F": 32, "dropout": 0.1},
    "data": {"batch": 16, "max_bytes": 100_000},
    "optimizer": {"warmup_steps": 2, "decay_steps": 10, "accumulate": 2},
}
EVALUATED = TINY | {"eval_every": 5, "eval_batches": 2, "data": TINY["data"] | {"eval_fraction": 0.1}}
# Large enough that writing a step takes some hundred milliseconds, in which a kill can fall.
HEAVY = TINY | {"steps": 12, "checkpoint_every": 3, "model": {"T": 16, "D": 512, "H": 2, "L": 2, "F": 2048}}


def arrays(folder: Path, path: str) -> dict[str, np.ndarray]:
    """All arrays of a committed step, by name, whole, on the host."""
    import jax
    import orbax.checkpoint as ocp

    with ocp.PyTreeCheckpointer() as checkpointer:
        target = folder / "checkpoints" / path / "state"
        shapes = checkpointer.metadata(target).item_metadata.tree
        as_numpy = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), shapes)
        tree = checkpointer.restore(target, restore_args=as_numpy)
    return {jax.tree_util.keystr(name): leaf for name, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def losses(records: list[dict[str, Any]]) -> dict[tuple[int, str], float]:
    """(Step, name) -> loss, of training and of held-out data."""
    found = [(record["step"], name, value) for record in records for name, value in record["values"].items()]
    return {(step, name): value for step, name, value in found if name.endswith("loss")}


def latest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "checkpoints" / "LATEST").read_text())


def test_ten_steps_equal_five_and_a_restore_in_new_processes_and_five_bit_for_bit(gang, tmp_path):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    straight = gang(whole, 1, EVALUATED | {"steps": 10})
    assert straight.exit_codes() == [0, 0], straight.output(0)
    first = gang(halves, 1, EVALUATED | {"steps": 5})
    assert first.exit_codes() == [0, 0], first.output(0)
    second = gang(halves, 2, EVALUATED | {"steps": 10})
    assert second.exit_codes() == [0, 0], second.output(0)

    assert [(record["event"], record["path"]) for record in second.records("checkpoint")] == [
        ("restored", "1/5"),
        ("committed", "2/10"),
    ]
    assert losses(straight.records("metrics")) == losses(first.records("metrics")) | losses(second.records("metrics"))
    expected, found = arrays(whole, "1/10"), arrays(halves, "2/10")
    assert expected.keys() == found.keys()
    different = [name for name in expected if expected[name].tobytes() != found[name].tobytes()]
    assert different == []
    phases = [record["phase"] for record in second.records("phase", rank=1)]
    assert phases == ["init", "join", "init", "restore", "compile", "train", "checkpoint", "eval"]
    assert second.records("progress", rank=1)[-1]["step"] == 10


def test_sigkill_during_a_save_resumes_from_the_last_commit_and_a_damaged_one_from_the_one_before(gang, tmp_path):
    killed = gang(tmp_path, 1, HEAVY, rank_count=1)
    unfinished = tmp_path / "checkpoints" / "1"
    killed.wait_until(lambda: len(killed.records("checkpoint")) >= 3 and any(unfinished.glob("*tmp*")))
    killed.kill()
    # Fresh, then commits; which save the kill falls into is left to chance, but not what holds after it.
    committed = latest(tmp_path)["step"]
    assert committed >= 6
    newest = tmp_path / "checkpoints" / latest(tmp_path)["path"]
    largest = max((file for file in newest.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)
    with largest.open("r+b") as file:
        file.truncate(largest.stat().st_size - 1)

    resumed = gang(tmp_path, 2, HEAVY, rank_count=1)
    assert resumed.exit_codes() == [0], resumed.output(0)
    quarantined, restored, *commits = resumed.records("checkpoint")
    assert (quarantined["event"], quarantined["path"]) == ("quarantined", f"1/{committed}")
    assert (restored["event"], restored["path"]) == ("restored", f"1/{committed - 3}")
    # The step that was damaged is reached again and committed again, by this attempt.
    assert [commit["path"] for commit in commits] == [f"2/{step}" for step in range(committed, 13, 3)]
    assert latest(tmp_path)["path"] == "2/12"


@pytest.mark.parametrize("config", [TINY | {"steps": 5, "model": {"D": 30, "H": 4}}])
def test_an_invalid_config_ends_the_rank_with_that_reason(gang, tmp_path, config):
    refused = gang(tmp_path, 1, config, rank_count=1)
    assert refused.exit_codes() == [1]
    (failure,) = refused.records("failure")
    assert failure["reason"] == "invalid_program"
    assert failure["message"] == "config.model.D: D=30 is not divisible by H=4"


def test_a_notice_ends_a_run_at_a_saved_step_and_a_lost_step_is_never_a_fresh_start(gang, tmp_path):
    endless = TINY | {"steps": 1_000_000, "checkpoint_every": 1_000_000}
    noticed = gang(tmp_path, 1, endless, rank_count=1)
    noticed.wait_until(lambda: any(record["step"] for record in noticed.records("progress")))
    noticed.ranks[0].send_signal(signal.SIGTERM)
    assert noticed.exit_codes() == [EXIT_PREEMPTED], noticed.output(0)
    saved = latest(tmp_path)
    last_step = noticed.records("progress")[-1]["step"]
    assert (saved["step"], saved["path"]) == (last_step, f"1/{last_step}")
    assert noticed.records("failure") == []

    shutil.rmtree(tmp_path / "checkpoints" / saved["path"])
    lost = gang(tmp_path, 2, endless, rank_count=1)
    assert lost.exit_codes() == [1]
    (failure,) = lost.records("failure")
    assert failure["reason"] == "nothing_restorable"
    assert lost.records("checkpoint") == []


def test_a_notice_that_leaves_no_time_for_a_save_ends_a_run_at_once_and_says_so(gang, tmp_path):
    endless = TINY | {"steps": 1_000_000, "checkpoint_every": 20}
    noticed = gang(tmp_path, 1, endless, rank_count=1)
    noticed.wait_until(lambda: any(record["event"] == "committed" for record in noticed.records("checkpoint")))
    notice.write(tmp_path, grace_ms=0)
    noticed.ranks[0].send_signal(signal.SIGTERM)
    assert noticed.exit_codes() == [EXIT_PREEMPTED], noticed.output(0)
    told = [record for record in noticed.records("checkpoint") if record["event"] == "notice"]
    assert len(told) == 1
    assert told[0]["message"].startswith("it is not saved: 0.0 s are left, and a save")
    committed = [record["step"] for record in noticed.records("checkpoint") if record["event"] == "committed"]
    assert told[0]["step"] not in committed
    assert latest(tmp_path)["step"] == committed[-1]
