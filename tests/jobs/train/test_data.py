"""Batches: a function of data, seed and step."""

from __future__ import annotations

import functools
import json
import operator
import time

import numpy as np
import pyarrow
import pytest
import tokenizers
from array_record.python import array_record_module
from pyarrow import parquet

from jobs.train.data import Ahead, Data
from jobs.train.read import END
from jobs.train.samples import Packed
from orchestrator.domain.programs.train import DataConfig, ModelConfig, Order, Part, Source, Tokenizer, TrainConfig
from tests.fakes.bucket_server import serving
from workers.rank.failure import InvalidProgram
from workers.storage import open_storage


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


def documents(tmp_path, kind):
    """The same three documents in a file of each kind."""
    records, path = [{"prompt": f"p{n}", "response": "r" * n} for n in range(1, 4)], tmp_path / f"a.{kind.value}"
    match kind:
        case Source.JSONL:
            path.write_text("\n".join(map(json.dumps, records)))
        case Source.PARQUET:
            parquet.write_table(pyarrow.Table.from_pylist(records), path)
        case Source.ARRAY_RECORD:
            writer = array_record_module.ArrayRecordWriter(str(path), "group_size:1")
            for record in records:
                writer.write(json.dumps(record).encode())
            writer.close()
    return path


def bad(tmp_path, kind):
    (path := tmp_path / f"bad.{kind.value}").write_bytes(b"no such format" * 100)
    return path


@pytest.mark.parametrize("kind", [Source.JSONL, Source.PARQUET, Source.ARRAY_RECORD])
def test_documents_are_the_same_whichever_kind_of_file_holds_them(tmp_path, kind):
    packed = batches(documents(tmp_path, kind), source=kind, T=17).samples
    tokens = [*b"p1r", END, *b"p2rr", END, *b"p3rrr", END]
    assert packed.tokens[0, : len(tokens)].tolist() == tokens
    assert packed.learn[0].sum() == 2 + 3 + 4
    with pytest.raises(InvalidProgram, match=r"bad\."):
        batches(bad(tmp_path, kind), source=kind)


@pytest.fixture(scope="module")
def bucket():
    """A bucket that the storage's own client finds, as (put an object, its address)."""
    with serving() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.variables.items():
            patch.setenv(name, value)
        root = open_storage(server.address("data"))

        def put(name, content):
            root.write(name, content)
            return f"{root.address}/{name}"

        yield put


def test_objects_of_a_bucket_are_read_like_files(tmp_path, bucket):
    tokens = np.arange(100, dtype="<u2")
    found = batches(bucket("train.bin", tokens.tobytes()), source=Source.TOKENS, V=100).samples.tokens
    assert isinstance(found, np.memmap)
    assert np.array_equal(found, tokens)
    assert batches(bucket("a.txt", bytes(range(200))), max_bytes=150).samples.tokens.tobytes() == bytes(range(150))
    records = documents(tmp_path, Source.ARRAY_RECORD)
    packed = [
        batches(path, source=Source.ARRAY_RECORD).samples
        for path in (records, bucket("a.array_record", records.read_bytes()))
    ]
    assert np.array_equal(packed[0].tokens, packed[1].tokens)
    with pytest.raises(InvalidProgram, match=r"data\.paths: gs://.*/gone\.txt: .*404"):
        batches(bucket("gone", b"").replace("gone", "gone.txt"))


@pytest.fixture
def tokenizer(tmp_path):
    """A tokenizer.json of whole words."""
    words = {"<unk>": 0, "<end>": 1, "one": 2, "two": 3, "three": 4}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    return {"tokenizer": Tokenizer.HF, "tokenizer_path": str(tmp_path), "V": 5}


def test_a_hugging_face_tokenizer_makes_the_tokens_of_text_and_documents(tmp_path, tokenizer):
    (tmp_path / "a.txt").write_text("one two three four " * 10)
    assert batches(tmp_path / "a.txt", **tokenizer).samples.tokens[:5].tolist() == [2, 3, 4, 0, 2]
    (tmp_path / "a.jsonl").write_text(json.dumps({"prompt": "one", "response": "two three"}))
    packed = batches(tmp_path / "a.jsonl", source=Source.JSONL, end_token="<end>", **tokenizer).samples
    assert packed.tokens[0, :5].tolist() == [2, 3, 4, 1, 0]
    assert packed.learn[0, :5].tolist() == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"V": 4}, r"model\.V=4 is less than the 5 tokens"),
        ({"source": Source.JSONL, "end_token": "</s>"}, r"data\.end_token: .* has no token '</s>'"),
        ({"tokenizer_path": "gone"}, r"data\.tokenizer_path: gone"),
    ],
)
def test_a_tokenizer_that_does_not_fit_is_named(tmp_path, tokenizer, given, message):
    (tmp_path / "a").write_text('{"text": "one"}')
    with pytest.raises(InvalidProgram, match=message):
        batches(tmp_path / "a", **(tokenizer | given))


def mixed(tmp_path, order, *parts, **given):
    """A mixture of files that each hold one number, (number, tokens, weight)."""
    for number, size, _ in parts:
        np.full(size, number, "<u2").tofile(tmp_path / f"{number}.bin")
    mixture = tuple(Part((str(tmp_path / f"{number}.bin"),), weight) for number, _, weight in parts)
    return batches(source=Source.TOKENS, mixture=mixture, order=order, T=4, **given)


@pytest.mark.parametrize("order", Order)
def test_a_mixture_takes_rows_by_weight_in_an_order_of_seed_and_step_alone(tmp_path, order):
    parts = (1, 1000, 3.0), (2, 100, 1.0)
    one, again, other = (mixed(tmp_path, order, *parts, batch=64, seed=seed) for seed in (0, 0, 1))
    rows = [each.local(step)["tokens"][:, 0] for each, step in ((one, 33), (again, 33), (one, 34), (other, 33))]
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])
    assert not np.array_equal(rows[0], rows[3])
    taken = np.concatenate([one.local(step)["tokens"][:, 0] for step in range(16)])
    # In epochs exactly so in every 1,024 rows; by chance 4 standard deviations are 55.
    assert abs(int((taken == 2).sum()) - 256) <= (0 if order is Order.EPOCHS else 55)


def test_a_mixture_in_epochs_takes_each_window_of_a_part_once_before_any_twice(tmp_path):
    np.arange(401, dtype="<u2").tofile(tmp_path / "a.bin")
    np.arange(1000, 1041, dtype="<u2").tofile(tmp_path / "b.bin")
    mixture = Part((str(tmp_path / "a.bin"),), 2.0), Part((str(tmp_path / "b.bin"),), 1.0)
    one = batches(source=Source.TOKENS, mixture=mixture, order=Order.EPOCHS, T=4, V=2000, batch=7)
    first = np.concatenate([one.local(step)["tokens"][:, 0] for step in range(300)])
    for begin, windows in ((0, 100), (1000, 10)):
        mine = first[(first >= begin) & (first < begin + 1000)]
        epochs = mine[: len(mine) // windows * windows].reshape(-1, windows)
        assert len(epochs) > 5
        assert np.array_equal(np.sort(epochs, axis=1), np.tile(begin + 4 * np.arange(windows), (len(epochs), 1)))
        assert len({tuple(epoch) for epoch in epochs}) == len(epochs)


def test_the_order_of_rows_is_the_one_that_runs_so_far_have_had(tmp_path):
    """Golden: a change of it would make every resumed run inexact."""
    np.arange(1000, dtype="<u2").tofile(tmp_path / "a.bin")
    found = {
        order.value: batches(tmp_path / "a.bin", source=Source.TOKENS, V=1000, order=order, seed=7).local(1000)
        for order in Order
    }
    np.arange(401, dtype="<u2").tofile(tmp_path / "b.bin")
    np.arange(1000, 1041, dtype="<u2").tofile(tmp_path / "c.bin")
    mixture = Part((str(tmp_path / "b.bin"),), 2.0), Part((str(tmp_path / "c.bin"),), 1.0)
    given = {"source": Source.TOKENS, "order": Order.EPOCHS, "T": 4, "V": 2000, "batch": 8, "seed": 7}
    found["mixture"] = batches(mixture=mixture, **given).local(1000)
    assert {name: rows["tokens"][:, 0].tolist() for name, rows in found.items()} == {
        "random": [660, 201, 938, 192],
        "epochs": [656, 320, 944, 272],
        "mixture": [0, 1032, 1000, 1024, 132, 256, 296, 1016],
    }


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
