"""The figures by hand, on jobs whose numbers are easy."""

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import SliceId
from orchestrator.domain.lifecycle import JobState
from orchestrator.simulator.metrics import Spread, summarise
from orchestrator.simulator.records import JobRecord, Outcome, Run
from orchestrator.simulator.table import rows


def a_record(id="1", submit=0, start=0, end=100, runs=100, user="ann", chips=1, **fields) -> JobRecord:
    made = JobRecord(id, user, chips, submit * 1000, runs * 1000, start * 1000, end * 1000, JobState.SUCCEEDED)
    made.held_ms = fields.pop("held", runs) * 1000
    return made


def figures(*jobs, chips=1, **fields):
    runs = [Run(j.id, j.user, (SliceId("s"),), j.chips, j.end_ms - j.held_ms, j.end_ms, Reason.COMPLETED) for j in jobs]
    return summarise(Outcome({j.id: j for j in jobs}, (SliceId("s"),), chips, runs, **fields))


def test_completion_waiting_and_makespan():
    found = figures(a_record("1"), a_record("2", submit=50, start=100, end=200))
    assert found.completion_s == Spread(125.0, 125.0, 150.0)
    assert found.waiting_s.mean == 25.0
    assert (found.makespan_s, found.utilisation) == (200.0, 1.0)


def test_the_99th_percentile_is_the_nearest_rank():
    assert Spread.of(range(1, 101)).p99 == 99
    assert Spread.of(range(1, 201)).p99 == 198
    assert Spread.of([5.0]).p99 == 5.0
    assert Spread.of([]).mean == 0.0


def test_slowdown_is_bounded_by_ten_seconds():
    assert figures(a_record(runs=1, start=19, end=20)).bounded_slowdown.mean == 2.0


def test_jain_is_one_when_all_users_fare_alike_and_less_when_not():
    alike = a_record("1", user="a", end=300), a_record("2", user="b", end=300)
    assert figures(*alike).jain == 1.0
    unlike = a_record("1", user="a", end=100), a_record("2", user="b", end=300)
    assert figures(*unlike).jain == (1 + 3) ** 2 / (2 * (1 + 9))


def test_the_finish_time_ratio_of_the_trace_divides_by_all_jobs_per_chip():
    jobs = a_record("1", end=400), a_record("2", end=200)
    found = figures(*jobs, chips=1).finish_of_trace
    assert (found.worst, found.mean) == (2.0, 1.5)
    assert figures(*jobs, chips=4).finish_of_trace.worst == 4.0


def test_the_finish_time_ratio_of_jobs_divides_by_those_who_were_there():
    # 0 to 200 two jobs, 200 to 400 one: on average 1.5 over the first job's life, 2 over the second's
    found = figures(a_record("1", end=400), a_record("2", end=200)).finish_of_jobs
    assert found.worst == 4 / 1.5
    assert found.mean == (4 / 1.5 + 2 / 2) / 2


def test_the_finish_time_ratio_of_users_counts_a_user_once_and_weighs_chips():
    jobs = a_record("1", user="a", end=400, chips=2), a_record("2", user="a", end=400), a_record("3", user="b", end=400)
    found = figures(*jobs, chips=2).finish_of_users
    assert found.worst == 4.0  # one chip of two, two users: a fair share each
    assert found.mean == (2 + 4 + 4) / 3


def test_a_table_has_a_row_per_figure_and_the_change_from_the_first_column():
    first, second = figures(a_record(end=100)), figures(a_record(end=150))
    row = next(row for row in rows([first, second]) if row.label == "completion, mean s")
    assert (row.texts, row.change) == (("100", "150"), "+50.0 %")
