import json
import math

import pytest

from orchestrator.store.spool import MAX_LINE_BYTES, CheckpointReport, Metrics, Notice, Phase, Record, Step, read_spool

COMMITTED = {"type": "checkpoint", "event": "committed", "step": 7, "path": "p"}


def line(**fields: object) -> bytes:
    return json.dumps({"at_ms": 5, **fields}).encode() + b"\n"


@pytest.mark.parametrize(
    ("spelled", "record"),
    [
        (line(type="phase", phase="train"), Phase(5, "train", 0)),
        (line(type="progress", step=3), Step(5, 3, None)),
        (line(type="progress", step=3, total_steps=None), Step(5, 3, None)),
        (line(type="progress", step=3, total_steps=9), Step(5, 3, 9)),
        (line(type="metrics", step=2**53 + 1, values={"loss": 1}), Metrics(5, 2**53 + 1, {"loss": 1.0})),
        (line(type="metrics", step=1, values={"loss/训练 α": -0.0}), Metrics(5, 1, {"loss/训练 α": -0.0})),
        (line(type="metrics", step=1, values={"x": "Infinity"}), Metrics(5, 1, {"x": math.inf})),
        (line(type="metrics", step=1, values={"x": "-Infinity"}), Metrics(5, 1, {"x": -math.inf})),
        (line(type="metrics", step=1, values={}), Metrics(5, 1, {})),
        (line(type="metrics", step=1, values={"k" * 300: 1.5}), Metrics(5, 1, {"k" * 300: 1.5})),
        (
            line(
                type="checkpoint", event="committed", step=7, path="p", bytes=1, step_at_ms=2, save_ms=3, blocked_ms=4
            ),
            CheckpointReport(5, "committed", 7, "p", 1, 2, 3, 4),
        ),
        (
            line(type="checkpoint", event="restored", step=7, path="p"),
            CheckpointReport(5, "restored", 7, "p", None, None, None, None),
        ),
        (
            line(type="checkpoint", event="fresh", step=0),
            CheckpointReport(5, "fresh", 0, "", None, None, None, None),
        ),
        (line(type="progress", step=3).replace(b"\n", b"\r\n"), Step(5, 3, None)),
        (line(type="event", kind="nan", message="it is", step=3), Notice(5, "nan", "it is", 3)),
        (line(type="event", kind="x", message="m" * 3000), Notice(5, "x", "m" * 2000, None)),
    ],
)
def test_read_spool_of_a_good_line_gives_its_record(spelled: bytes, record: Record) -> None:
    part = read_spool(spelled, 0)
    assert (part.records, part.length, part.invalid) == ((record,), len(spelled), 0)


def test_read_spool_keeps_nan_a_nan() -> None:
    (record,) = read_spool(line(type="metrics", step=1, values={"x": "NaN"}), 0).records
    assert isinstance(record, Metrics)
    assert math.isnan(record.values["x"])


@pytest.mark.parametrize(
    "spelled",
    [
        b"hello\n",
        b"\xff\xfe\n",
        b"{}\n",
        b"[]\n",
        b"3\n",
        b'{"type":"metrics","at_ms":5,"step":1,"values":{"x":NaN}}\n',
        b'{"type":"metrics","at_ms":5,"step":1,"values":{"x":1e309}}\n',
        b'{"type":"progress","at_ms":5,"at_ms":6,"step":1}\n',
        b'{"type":"phase","at_ms":5,"phase":"\\ud800"}\n',
        b"[" * 100_000 + b"\n",
        b'{"type":"progress","at_ms":5,"step":' + b"9" * 5000 + b"}\n",
        line(type="unheard"),
        line(type=["metrics"]),
        line(type="progress", step=-1),
        line(type="progress", step="1"),
        line(type="progress", step=1.0),
        line(type="progress", step=True),
        line(type="progress", step=2**63),
        line(type="progress", step=1, at_ms=None),
        line(type="progress", step=1, total_steps=-1),
        line(type="phase", phase=""),
        line(type="phase", phase=7),
        line(type="metrics", step=1, values=[1]),
        line(type="metrics", values={"x": 1}),
        line(type="checkpoint", event="dreamt", step=1, path="p"),
        line(type="checkpoint", event="committed", step=1),
        line(type="checkpoint", event="committed", step=1, path="p", bytes="many"),
        line(type="event", kind="job.ended", message="m"),
        line(type="event", kind="", message="m"),
        line(type="event", kind="nan"),
    ],
)
def test_read_spool_of_a_bad_line_counts_it_and_goes_on(spelled: bytes) -> None:
    good = line(type="progress", step=3)
    part = read_spool(spelled + good, 0)
    assert (part.records, part.length, part.invalid) == ((Step(5, 3, None),), len(spelled + good), 1)


@pytest.mark.parametrize("bad", ["1.0", True, None, [1], {"a": 1}, "inf", 10**400])
def test_read_spool_skips_a_wrong_value_and_keeps_the_others_of_its_record(bad: object) -> None:
    part = read_spool(line(type="metrics", step=1, values={"bad": bad, "good": 2.0}), 0)
    assert (part.records, part.invalid) == ((Metrics(5, 1, {"good": 2.0}),), 1)


def test_read_spool_leaves_failures_to_the_supervisor() -> None:
    part = read_spool(line(type="failure", reason="hbm_oom", message="x"), 0)
    assert (part.records, part.invalid) == ((), 0)


def test_read_spool_goes_only_as_far_as_lines_are_whole() -> None:
    whole = line(type="progress", step=3)
    assert read_spool(whole + b'{"type":', 0).length == len(whole)
    assert read_spool(b'{"type":', 0).length == 0


def test_read_spool_takes_an_unfinished_line_once_nothing_more_can_come() -> None:
    unfinished = line(type="progress", step=3)[:-1]
    part = read_spool(unfinished, 0, grows=False)
    assert (part.records, part.length) == ((Step(5, 3, None),), len(unfinished))
    assert read_spool(b'{"type":', 0, grows=False).invalid == 1


def test_read_spool_places_each_phase_by_its_own_line() -> None:
    first = line(type="phase", phase="init")
    part = read_spool(first + line(type="phase", phase="train"), 1000)
    assert [record.position for record in part.records if isinstance(record, Phase)] == [1000, 1000 + len(first)]


def test_read_spool_does_not_wait_for_ever_for_the_end_of_a_line() -> None:
    part = read_spool(b"x" * (MAX_LINE_BYTES + 1), 0)
    assert (part.length, part.invalid) == (MAX_LINE_BYTES + 1, 1)
    assert read_spool(b"x" * MAX_LINE_BYTES, 0).length == 0


def test_read_spool_skips_a_line_that_is_too_long_and_reads_its_neighbours() -> None:
    good, long = line(type="progress", step=3), b" " * MAX_LINE_BYTES + line(type="progress", step=4)
    part = read_spool(good + long + good, 0)
    assert (part.records, part.invalid) == ((Step(5, 3, None),) * 2, 1)
    unfinished = read_spool(good + long[:-1], 0)
    assert (unfinished.length, unfinished.invalid) == (len(good + long) - 1, 1)


def test_read_spool_advances_in_every_share_of_a_post() -> None:
    share = 256 * 1024
    spool = line(type="progress", step=3) + b"x" * (3 * share) + b"\n" + line(type="progress", step=4)
    offset, records = 0, []
    while offset < len(spool):
        part = read_spool(spool[offset : offset + share], offset)
        assert part.length
        records += part.records
        offset += part.length
    assert records == [Step(5, 3, None), Step(5, 4, None)]


def test_read_spool_takes_a_torn_line_that_is_final() -> None:
    spool = line(type="progress", step=3) + line(type="progress", step=4)[:-1]
    part = read_spool(spool, 0, final=True)
    assert (len(part.records), part.length) == (2, len(spool))
