"""Simulated days: exact small ones, and random ones with every fault, watched at every tick."""

import os
import random

import pytest

from orchestrator.domain.ids import SliceId
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.sharing import Window
from orchestrator.scheduler.policy import EASY, FIFO
from orchestrator.simulator.engine import Setup, simulate
from orchestrator.simulator.faults import FaultModel, Loss
from orchestrator.simulator.fleet import Fleet, counting, read_fleet
from orchestrator.simulator.gang import Costs
from orchestrator.simulator.metrics import summarise
from orchestrator.simulator.workload import Estimates
from tests.orchestrator.simulator.days import Invariants, a_day, a_traced, ends

S0 = SliceId("chips-0")


def lost(at, back, spot=False):
    return {S0: (Loss(S0, at * 1000, back * 1000, spot),)}


def test_jobs_of_one_chip_run_one_after_the_other():
    assert ends(a_day(a_traced("1"), a_traced("2", at=10))) == [100, 200]


def test_fifo_waits_behind_a_blocked_job_and_easy_passes_it():
    jobs = a_traced("1", chips=1, runs=100), a_traced("2", at=1, chips=2), a_traced("3", at=2, runs=90)
    assert ends(a_day(*jobs, fleet=2, policy=FIFO)) == [100, 200, 290]
    assert ends(a_day(*jobs, fleet=2, policy=EASY)) == [100, 200, 92]


def test_a_loss_undoes_what_was_not_committed_and_the_job_goes_on_elsewhere():
    costs = Costs(start_ms=5_000, commit_every_ms=30_000)
    outcome = a_day(a_traced(runs=100), fleet=2, costs=costs, losses=lost(50, 1000))
    # 45 s worked, 30 committed; 5 s start again, 70 s of work left
    assert ends(outcome) == [50 + 5 + 70]
    assert outcome.lost_chip_ms == 15_000 + 5_000
    assert [job.preemptions for job in outcome.jobs.values()] == [1]


def test_a_program_that_fails_again_and_again_uses_its_restarts_up():
    outcome = a_day(a_traced(runs=100), faults=FaultModel(error_share=1.0, seed=3))
    (job,) = outcome.jobs.values()
    assert job.state is JobState.FAILED
    assert len(outcome.runs) == 3  # one, and two restarts charged to failures
    assert job.held_ms < 3 * 100_000


def test_with_no_other_slice_the_job_waits_until_the_lost_one_is_back():
    assert ends(a_day(a_traced(runs=100), losses=lost(50, 400))) == [400 + 50]


def test_production_evicts_batch_which_saves_and_comes_back():
    batch = a_traced("1", runs=1000, priority="batch/0")
    urgent = a_traced("2", at=300, runs=100, priority="production/0")
    outcome = a_day(batch, urgent, costs=Costs(save_ms=10_000))
    assert ends(outcome) == [310 + 100 + 700, 310 + 100]
    assert [job.evictions for job in outcome.jobs.values()] == [1, 0]


def test_a_job_waits_for_the_end_of_a_window_that_it_would_run_into():
    fleet = Fleet(counting(1).slices, windows={S0: (Window(50_000, 400_000),)})
    assert ends(a_day(a_traced(runs=40), a_traced("2", runs=100), fleet=fleet)) == [40, 500]


def test_an_elastic_job_grows_when_others_leave():
    elastic = a_traced("1", at=1, runs=4000, slices="1-2*v5e:1x1")
    outcome = a_day(a_traced("2", runs=1000), elastic, fleet=2)
    job = list(outcome.jobs.values())[1]
    # 999 s of half speed, then the rest of 4000 s at full speed
    assert (job.resizes, job.end_ms) == (1, 1_000_000 + 4_000_000 - 499_500)


def test_an_elastic_job_shrinks_for_another():
    elastic = a_traced("1", runs=2000, slices="1-2*v5e:1x1")
    outcome = a_day(elastic, a_traced("2", at=500, runs=100), fleet=2)
    first, second = outcome.jobs.values()
    assert second.end_ms == 600_000
    assert first.resizes >= 1


def test_run_times_are_learned_from_like_jobs():
    known = [a_traced(str(n), at=n * 200, chips=1, runs=50, user="quick") for n in range(2)]
    blocked = a_traced("big", at=1001, chips=2, runs=10, user="slow")
    running = a_traced("long", at=1000, chips=1, runs=300, user="long")
    small = a_traced("small", at=1002, chips=1, runs=50, user="quick")
    longs = [a_traced(f"l{n}", at=400 + n * 300, runs=300, user="long") for n in range(1)]
    outcome = a_day(*known, *longs, running, blocked, small, fleet=2, estimates=Estimates.LEARNED)
    by_id = {job.id: job for job in outcome.jobs.values()}
    assert by_id["job_000005"].end_ms == 1_052_000, "it passed the blocked job: both runtimes were known"


def test_a_job_larger_than_the_fleet_is_left_out_and_counted():
    outcome = a_day(a_traced(chips=9), a_traced("2"))
    assert (outcome.unfit, len(outcome.jobs)) == (1, 1)


def test_the_same_setup_gives_the_same_day():
    def day():
        jobs = tuple(a_traced(str(n), at=n * 10, chips=1 + n % 3, runs=50 + n) for n in range(40))
        return simulate(Setup(jobs, counting(4), faults=FaultModel(host_mtbf_h=0.5, repair_h=0.05, seed=7)))

    assert day() == day()


FLEET = """
pools:
  - {name: small, shape: v5e:2x4, slices: 5, capacity: spot}
  - {name: big, shape: v5e:4x4, slices: 3, capacity: reserved}
windows:
  - {slice: small-0, from: 1h, until: 2h}
  - {slice: big-1, from: 30m, until: 90m}
projects:
  red: {parents: [team]}
  green: {parents: [team], weight: 3}
quotas:
  - {owner: team, limit_chips: 56}
  - {owner: green, guarantee_chips: 24}
"""


DAYS = int(os.environ.get("PODWRIGHT_DAYS", "12"))
"""`make simulate` asks for many more."""


@pytest.mark.parametrize("seed", range(DAYS))
def test_any_day_keeps_the_invariants_and_ends_every_job(seed, tmp_path):
    (tmp_path / "fleet.yaml").write_text(FLEET)
    fleet, draw = read_fleet(tmp_path / "fleet.yaml"), random.Random(seed)
    jobs = tuple(
        a_traced(
            str(n),
            at=draw.randrange(10_000),
            runs=draw.choice([20, 300, 4_000]),
            user=draw.choice(["red", "green", "blue"]),
            slices=draw.choice(["v5e:2x4", "2*v5e:2x4", "v5e:4x4", "1-3*v5e:2x4"]),
            priority=draw.choice(["production/0", "normal/0", "normal/5", "batch/0"]),
        )
        for n in range(60)
    )
    watched = Invariants(fleet)
    outcome = a_day(
        *sorted(jobs, key=lambda job: job.submit_ms),
        fleet=fleet,
        observe=watched,
        estimates=draw.choice(list(Estimates)),
        costs=Costs(start_ms=20_000, commit_every_ms=60_000, save_ms=5_000),
        faults=FaultModel(host_mtbf_h=20, spot_mtbf_h=6, repair_h=0.2, error_share=0.2, seed=seed),
    )
    assert {job.state for job in outcome.jobs.values()} <= {JobState.SUCCEEDED, JobState.FAILED}
    assert watched.ticks == outcome.ticks
    assert summarise(outcome).preemptions > 0
