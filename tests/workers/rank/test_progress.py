"""The spool and its records."""

from __future__ import annotations

import json
import math
import threading

import pytest

from workers.rank.progress import MAX_LINE_BYTES, Reporter, Spool


def read(path):
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]


def a_reporter(path, rank=0):
    return Reporter(Spool(path), rank, now_ms=lambda: 7)


@pytest.mark.parametrize(
    ("report", "record"),
    [
        (lambda r: r.phase("compile"), {"type": "phase", "at_ms": 7, "phase": "compile"}),
        (lambda r: r.progress(120, 400), {"type": "progress", "at_ms": 7, "step": 120, "total_steps": 400}),
        (
            lambda r: r.metrics(120, {"loss": 2.5}),
            {"type": "metrics", "at_ms": 7, "step": 120, "values": {"loss": 2.5}},
        ),
        (
            lambda r: r.committed(step=9, step_at_ms=5, path="1/9", size_bytes=10, save_ms=2, blocked_ms=1),
            {"type": "checkpoint", "at_ms": 7, "event": "committed", "step": 9, "step_at_ms": 5, "path": "1/9",
             "bytes": 10, "save_ms": 2, "blocked_ms": 1},
        ),
        (
            lambda r: r.restored(9, "1/9"),
            {"type": "checkpoint", "at_ms": 7, "event": "restored", "step": 9, "path": "1/9"},
        ),
        (lambda r: r.fresh(), {"type": "checkpoint", "at_ms": 7, "event": "fresh", "step": 0}),
        (
            lambda r: r.quarantined(9, "1/9", "gone"),
            {"type": "checkpoint", "at_ms": 7, "event": "quarantined", "step": 9, "path": "1/9", "message": "gone"},
        ),
        (
            lambda r: r.event("starved", "step 3 waited", step=3),
            {"type": "event", "at_ms": 7, "kind": "starved", "message": "step 3 waited", "step": 3},
        ),
        (
            lambda r: r.failure("nan_loss", "loss became nan"),
            {"type": "failure", "at_ms": 7, "reason": "nan_loss", "message": "loss became nan"},
        ),
    ],
)  # fmt: skip
def test_record(tmp_path, report, record):
    report(a_reporter(tmp_path / "spool"))
    assert read(tmp_path / "spool") == [record]


def test_numbers_that_json_lacks_travel_as_strings(tmp_path):
    a_reporter(tmp_path / "spool").metrics(1, {"a": math.nan, "b": math.inf, "c": -math.inf})
    assert read(tmp_path / "spool")[0]["values"] == {"a": "NaN", "b": "Infinity", "c": "-Infinity"}


def test_only_rank_0_reports_metrics(tmp_path):
    a_reporter(tmp_path / "spool", rank=1).metrics(1, {"loss": 1.0})
    assert read(tmp_path / "spool") == []


def test_an_unknown_phase_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'lunch' is not a phase"):
        a_reporter(tmp_path / "spool").phase("lunch")


def test_a_line_of_64_kib_is_refused_and_nothing_of_it_written(tmp_path):
    spool = Spool(tmp_path / "spool")
    with pytest.raises(ValueError, match="exceeds 65,536"):
        spool.write({"type": "x", "text": "y" * MAX_LINE_BYTES})
    assert (tmp_path / "spool").read_bytes() == b""


def test_a_new_process_appends_and_threads_do_not_mix_lines(tmp_path):
    path = tmp_path / "spool"
    a_reporter(path).phase("init")

    def write(reporter):
        for step in range(200):
            reporter.progress(step, None)

    threads = [threading.Thread(target=write, args=(a_reporter(path),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read(path)) == 801


def test_a_spool_without_a_path_drops_records():
    Reporter(Spool(None), 0).phase("train")
