"""Jobs that wait for others, arrays, capacity with fallback, and what a restarted job is expected to take."""

import pytest

from orchestrator.domain.lifecycle import JobState
from orchestrator.reconciler.desk import Desk
from orchestrator.reconciler.placing import snapshot_of
from orchestrator.scheduler.policy import DEFAULT
from orchestrator.simulator.fleet import counting, read_fleet
from tests.orchestrator.simulator.days import Invariants, a_day, a_traced, ends
from tests.orchestrator.simulator.test_engine import lost


@pytest.mark.parametrize(("think_ms", "second"), [(0, 150), (30_000, 180)])
def test_a_job_starts_after_the_end_of_the_one_before_it_and_the_time_to_think(think_ms, second):
    jobs = a_traced("a", runs=100), a_traced("b", at=5, runs=50, after="a", think_ms=think_ms)
    outcome = a_day(*jobs, fleet=2)
    assert ends(outcome) == [100, second]
    assert outcome.jobs["job_000001"].submit_ms == (5_000 if think_ms == 0 else 130_000)


def test_a_job_that_comes_later_than_the_one_before_it_has_ended_does_not_wait():
    assert ends(a_day(a_traced("a", runs=100), a_traced("b", at=300, runs=50, after="a", think_ms=9_000))) == [100, 350]


def test_a_chain_runs_in_its_order_whatever_is_free():
    chain = [a_traced(str(n), runs=10, after=str(n - 1) if n else None) for n in range(4)]
    assert ends(a_day(*chain, fleet=9)) == [10, 20, 30, 40]


def test_who_waits_for_a_job_that_is_not_there_or_does_not_fit_waits_for_nobody():
    jobs = a_traced("a", chips=9), a_traced("b", after="a"), a_traced("c", after="x")
    outcome = a_day(*jobs, fleet=2)
    assert outcome.unfit == 1
    assert ends(outcome) == [100, 100]


def test_two_that_wait_for_each_other_never_run_and_end_the_day():
    outcome = a_day(a_traced("a", after="b"), a_traced("b", after="a"), fleet=2)
    assert {job.state for job in outcome.jobs.values()} == {JobState.BLOCKED}


def test_an_array_lets_so_many_in_at_once():
    members = [a_traced(str(n), runs=10, array="sweep", at_once=2) for n in range(5)]
    watch = Invariants(counting(9))
    assert ends(a_day(*members, fleet=9, observe=watch)) == [10, 10, 20, 20, 30]


def test_capacity_falls_back_when_the_first_kind_is_taken(tmp_path):
    path = tmp_path / "fleet.yaml"
    pool = "{name: %s, shape: v5e:1x1, slices: 1, capacity: %s}"
    path.write_text(f"pools:\n  - {pool % ('cheap', 'spot')}\n  - {pool % ('dear', 'on_demand')}\n")
    either, spot = ("spot", "on_demand"), ("spot",)
    jobs = [a_traced(str(n), runs=10, capacity=kinds) for n, kinds in enumerate((spot, either, spot))]
    outcome = a_day(*jobs, fleet=read_fleet(path))
    assert [run.slices for run in outcome.runs] == [("cheap-0",), ("dear-0",), ("cheap-0",)]


def test_a_restarted_job_is_expected_to_end_when_it_does():
    expected: set[int | None] = set()

    def observe(world, _changes):
        gangs = snapshot_of(Desk(world), DEFAULT).running
        expected.update(gang.ends_at_ms for gang in gangs if gang.started_at_ms == 90_000)

    running = a_traced(runs=100), a_traced("2", at=100, runs=10)  # somebody comes while its second attempt runs
    assert ends(a_day(*running, losses=lost(60, 90), observe=observe)) == [130, 140]
    assert expected == {130_000}
