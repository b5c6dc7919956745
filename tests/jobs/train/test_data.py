"""Batches: a function of text, seed and step."""

from __future__ import annotations

import numpy as np
import pytest

from jobs.train.data import Batches
from orchestrator.domain.programs.train import DataConfig, ModelConfig, TrainConfig
from workers.rank.failure import InvalidProgram


def batches(*paths, seed=0, max_bytes=1_000_000):
    return Batches.of(
        TrainConfig(seed=seed, model=ModelConfig(T=16), data=DataConfig(4, tuple(map(str, paths)), max_bytes))
    )


@pytest.fixture
def text(tmp_path):
    (tmp_path / "a.txt").write_bytes(bytes(range(200)))
    (tmp_path / "b.txt").write_bytes(b"z" * 50)
    return tmp_path / "a.txt", tmp_path / "b.txt"


def test_without_paths_the_text_is_pythons_own_library():
    found = batches(max_bytes=300_000)
    assert len(found.text) == 300_000
    assert b"import " in found.text.tobytes()


def test_files_are_joined_in_their_order_up_to_the_limit(text):
    assert batches(*text).text.tobytes() == bytes(range(200)) + b"z" * 50
    assert len(batches(*text, max_bytes=220).text) == 220


def test_a_batch_depends_on_seed_and_step_and_nothing_else(text):
    one, again, other = batches(*text), batches(*text), batches(*text, seed=1)
    assert one.local(7).shape == (4, 17)
    again.local(3)  # asking for other steps before changes nothing
    assert np.array_equal(one.local(7), again.local(7))
    assert not np.array_equal(one.local(7), one.local(8))
    assert not np.array_equal(one.local(7), other.local(7))


def test_rows_are_windows_of_the_text(text):
    assert all(row.tobytes() in batches(*text).text.tobytes() for row in batches(*text).local(0))


def test_a_restored_position_of_another_text_is_said(text, caplog):
    saved = batches(text[0]).position(5)
    batches(text[0]).resume(saved, 5)
    assert caplog.text == ""
    batches(*text).resume(saved, 5)
    assert "not an exact resume" in caplog.text


@pytest.mark.parametrize(("content", "message"), [(None, "No such file"), (b"short", "5 bytes of text are less than")])
def test_unusable_text_is_an_invalid_program(tmp_path, content, message):
    path = tmp_path / "text"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidProgram, match=message):
        batches(path)
