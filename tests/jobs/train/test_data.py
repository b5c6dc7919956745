"""Batches: a function of data, seed and step."""

from __future__ import annotations

import functools
import json
import operator
import time

import numpy as np
import pytest

from jobs.train.data import Ahead, Data
from jobs.train.read import END
from jobs.train.samples import Packed
from orchestrator.domain.programs.train import DataConfig, ModelConfig, Order, Source, Tokenizer, TrainConfig
from workers.rank.failure import InvalidProgram


def data_of(*paths, seed=0, T=16, V=300, **given):
    given = {"batch": 4, "paths": tuple(map(str, paths)), "max_bytes": 1_000_000} | given
    return Data.of(TrainConfig(seed=seed, model=ModelConfig(T=T, V=V), data=DataConfig(**given)))


def batches(*paths, **given):
    return data_of(*paths, **given).train


@pytest.fixture
def text(tmp_path):
    (tmp_path / "a.txt").write_bytes(bytes(range(200)))
    (tmp_path / "b.txt").write_bytes(b"z" * 50)
    return tmp_path / "a.txt", tmp_path / "b.txt"


def test_without_paths_the_text_is_pythons_own_library():
    found = batches(max_bytes=300_000).samples.tokens
    assert len(found) == 300_000
    assert b"import " in found.tobytes()


def test_files_are_joined_in_their_order_up_to_the_limit(text):
    assert batches(*text).samples.tokens.tobytes() == bytes(range(200)) + b"z" * 50
    assert len(batches(*text, max_bytes=220).samples.tokens) == 220


@pytest.mark.parametrize("order", Order)
def test_a_batch_depends_on_seed_and_step_and_nothing_else(text, order):
    one, again, other = (batches(*text, seed=seed, order=order) for seed in (0, 0, 1))
    assert one.local(7)["tokens"].shape == (4, 17)
    again.local(3)  # asking for other steps before changes nothing
    rows = [each.local(step)["tokens"] for each, step in ((one, 7), (again, 7), (one, 8), (other, 7))]
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])
    assert not np.array_equal(rows[0], rows[3])
    assert all(row.astype(np.uint8).tobytes() in one.samples.tokens.tobytes() for row in rows[0])


def test_an_epoch_takes_each_window_once_and_the_next_in_another_order(text):
    one = batches(text[0], order=Order.EPOCHS, batch=3, T=11)
    assert one.samples.count == 18
    first_B = [[int(row[0]) for row in one.local(step)["tokens"]] for step in range(12)]
    epochs = functools.reduce(operator.iadd, first_B[:6], []), functools.reduce(operator.iadd, first_B[6:], [])
    assert sorted(epochs[0]) == sorted(epochs[1]) == [11 * window for window in range(18)]
    assert epochs[0] != epochs[1]


def test_the_end_of_the_data_is_held_out_and_read_the_same_each_time(text):
    data = data_of(text[0], eval_fraction=0.5)
    assert (data.train.samples.tokens[-1], data.held_out.samples.tokens[0]) == (99, 100)
    assert np.array_equal(
        data.held_out.local(1)["tokens"], data_of(text[0], eval_fraction=0.5).held_out.local(1)["tokens"]
    )
    other = data_of(text[0], eval_paths=(str(text[1]),))
    assert (len(other.train.samples.tokens), set(other.held_out.samples.tokens)) == (200, {ord("z")})


def test_characters_are_numbered_by_code_point_over_all_of_the_text(tmp_path):
    (tmp_path / "a").write_text("bäa" * 20)
    (tmp_path / "b").write_text("c" * 30)
    data = data_of(tmp_path / "a", eval_paths=(str(tmp_path / "b"),), tokenizer=Tokenizer.CHARACTERS, V=4)
    assert data.train.samples.tokens[:3].tolist() == [1, 3, 0]
    assert set(data.held_out.samples.tokens) == {2}
    with pytest.raises(InvalidProgram, match=r"model\.V=2 is less than the 3 characters"):
        data_of(tmp_path / "a", tokenizer=Tokenizer.CHARACTERS, V=2)


def test_token_files_are_mapped_and_their_numbers_checked(tmp_path):
    np.arange(100, dtype="<u2").tofile(tmp_path / "train.bin")
    found = batches(tmp_path / "train.bin", source=Source.TOKENS, V=100)
    assert isinstance(found.samples.tokens, np.memmap)
    assert np.array_equal(np.diff(found.local(0)["tokens"]), np.ones((4, 16)))
    with pytest.raises(InvalidProgram, match=r"holds token 99, and model\.V=99"):
        batches(tmp_path / "train.bin", source=Source.TOKENS, V=99)


def test_documents_are_packed_and_only_responses_are_learned():
    a, b, c = (np.full(size, value, np.int32) for size, value in ((3, 7), (4, 8), (10, 9)))
    packed = Packed.of([(a, 0), (b, 2), (c, 1)], width=8)
    assert packed.tokens.tolist() == [[7, 7, 7, 8, 8, 8, 8, 0], [9] * 8, [9, 9] + [0] * 6]
    assert packed.segments.tolist() == [[1, 1, 1, 2, 2, 2, 2, 0], [1] * 8, [1, 1] + [0] * 6]
    assert packed.learn.astype(int).tolist() == [[0, 1, 1, 0, 0, 1, 1, 0], [0] + [1] * 7, [0, 1] + [0] * 6]


def test_jsonl_holds_text_or_prompt_and_response(tmp_path):
    records = [{"text": "ab"}, {"prompt": "cd", "response": "e"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    packed = batches(tmp_path / "a.jsonl", source=Source.JSONL).samples
    assert packed.tokens[0, :7].tolist() == [*b"ab", END, *b"cde", END]
    assert packed.learn[0, :7].tolist() == [False, True, True, False, False, True, True]


@pytest.mark.parametrize("line", ["{", "[]", '{"prompt": "x"}', '{"text": 5}'])
def test_a_line_that_is_no_document_is_named(tmp_path, line):
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n' + line)
    with pytest.raises(InvalidProgram, match=r"a\.jsonl, line 2"):
        batches(tmp_path / "a.jsonl", source=Source.JSONL)


def test_restored_positions_of_other_data_are_said(text, caplog):
    saved = batches(text[0]).position(5)
    batches(text[0]).resume(saved, 5)
    assert caplog.text == ""
    batches(*text).resume(saved, 5)
    assert "not an exact resume" in caplog.text


@pytest.mark.parametrize(("content", "message"), [(None, "No such file"), (b"short", "5 tokens are less than")])
def test_unusable_text_is_an_invalid_program(tmp_path, content, message):
    path = tmp_path / "text"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidProgram, match=message):
        batches(path)


def test_batches_are_made_ahead_in_order_and_no_further_than_the_last():
    made = []
    ahead = Ahead(lambda step: made.append(step) or step, last=4)
    assert [ahead.take(step) for step in (2, 3)] == [2, 3]
    assert ahead.take(4) == 4
    ahead.close()
    assert made == [2, 3, 4]


def test_an_error_in_the_thread_reaches_the_loop():
    ahead = Ahead(lambda step: 1 // step, last=1)
    with pytest.raises(ZeroDivisionError):
        ahead.take(0)
    ahead.close()


def test_a_batch_is_waited_for():
    ahead = Ahead(lambda step: time.sleep(0.01) or step, last=3)
    assert [ahead.take(step) for step in range(4)] == [0, 1, 2, 3]
    ahead.close()
