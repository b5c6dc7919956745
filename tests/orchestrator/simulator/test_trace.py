"""Reading traces: CSV, SWF and the recorded history of a live system."""

import json

import pytest

from orchestrator.simulator.recorded import read_recorded
from orchestrator.simulator.trace import BadTrace, TraceJob, read_trace


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_csv_is_read_by_submit_time_and_empty_jobs_are_left_out(tmp_path):
    text = "job_id,submit_s,chips,duration_s,user,walltime_req_s\nb,9,2,1.5,Ann,60\na,0,1,10,,\nz,1,0,9,,\n"
    assert read_trace(written(tmp_path, "t.csv", text)) == (
        TraceJob("a", 0, 1, 10_000, "nobody"),
        TraceJob("b", 9_000, 2, 1_500, "Ann", 60_000),
    )


def test_one_workload_of_several_is_chosen(tmp_path):
    path = written(tmp_path, "t.csv", "workload,submit_s,chips,duration_s\n1,0,1,1\n2,0,3,1\n")
    assert [job.chips for job in read_trace(path, "2")] == [3]
    with pytest.raises(BadTrace, match="no job of workload 9"):
        read_trace(path, "9")


def test_swf_takes_requested_processors_where_used_ones_are_unknown(tmp_path):
    used = "1 5 0 100 8 -1 -1 16 300 -1 1 7 1 -1 -1 -1 -1 -1"
    unknown = "2 6 0 100 -1 -1 -1 16 -1 -1 1 7 1 -1 -1 -1 -1 -1"
    path = written(tmp_path, "t.swf", f"; a comment\n{used}\n{unknown}\n")
    assert read_trace(path) == (
        TraceJob("1", 5_000, 8, 100_000, "user-7", 300_000),
        TraceJob("2", 6_000, 16, 100_000, "user-7"),
    )


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.csv", "submit_s,chips\n0,1\n", "line 2.*duration_s"),
        ("t.csv", "submit_s,chips,duration_s\n0,1,1\n0,many,1\n", "line 3.*many"),
        ("t.swf", "1 2 3\n", "line 1"),
        ("t.csv", "submit_s,chips,duration_s\n", "holds no job"),
    ],
)
def test_a_bad_line_is_named(tmp_path, name, text, says):
    with pytest.raises(BadTrace, match=says):
        read_trace(written(tmp_path, name, text))


def recorded(**fields):
    return {
        "id": "job_1",
        "created_at_ms": 1_000_000,
        "started_at_ms": 1_002_000,
        "ended_at_ms": 1_012_000,
        "project": "research",
        "slices": ["v5e:2x4"],
        "priority": "batch/0",
    } | fields


def test_a_live_systems_history_is_a_trace(tmp_path):
    jobs = [recorded(), recorded(id="job_2", created_at_ms=999_000), recorded(id="job_3", started_at_ms=None)]
    later, first = TraceJob("job_1", 1_000, 1, 10_000, "research", None, "v5e:2x4", "batch/0"), "job_2"
    found = read_recorded(written(tmp_path, "t.json", json.dumps(jobs)))
    assert (found[0].id, found[0].submit_ms, found[1]) == (first, 0, later)


@pytest.mark.parametrize("text", ["{}", "nonsense", "[]", '[{"id": 1}]'])
def test_what_is_no_history_is_refused(tmp_path, text):
    with pytest.raises(BadTrace):
        read_recorded(written(tmp_path, "t.json", text))


def test_a_csv_tells_who_waits_for_whom_and_what_each_takes(tmp_path):
    head = "job_id,submit_s,chips,duration_s,after,think_s,array,at_once,capacity"
    rows = "a,0,1,10,,,,,spot+on_demand\nb,0,1,10,a,5,,,\nc,0,1,10,,,sweep,2,\n"
    first, second, third = read_trace(written(tmp_path, "t.csv", f"{head}\n{rows}"))
    assert first.capacity == ("spot", "on_demand")
    assert (second.after, second.think_ms, second.capacity) == ("a", 5_000, ("any",))
    assert (third.array, third.at_once) == ("sweep", 2)


def test_swf_tells_the_preceding_job_and_the_think_time(tmp_path):
    lines = "1 0 0 9 1 -1 -1 1 -1 -1 1 7 1 -1 -1 -1 -1 -1\n2 0 0 9 1 -1 -1 1 -1 -1 1 7 1 -1 -1 -1 1 30\n"
    first, second = read_trace(written(tmp_path, "t.swf", lines))
    assert (first.after, second.after, second.think_ms) == (None, "1", 30_000)
