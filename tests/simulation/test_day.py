"""Seeded days over the real store, tick and protocol: whatever happens, the invariants hold and every job ends."""

from pathlib import Path

import pytest

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import JobId
from orchestrator.domain.job import Desired
from orchestrator.domain.lifecycle import TERMINAL, JobState
from orchestrator.store.database import Database, ReadTx
from orchestrator.store.queries import jobs as job_queries
from orchestrator.store.queries import metrics as metric_queries
from tests.simulation.day import Day

pytestmark = pytest.mark.anyio
SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
async def test_any_day_keeps_the_invariants_and_every_job_ends(seed: int, quick_path: Path) -> None:
    day = Day(seed, quick_path)
    await day.run()  # checks the invariants after every tick
    database = Database(f"sqlite+aiosqlite:///{quick_path / 'podwright.db'}")
    async with database.read() as tx:
        for job_id in day.submitted:
            job = await job_queries.find(tx, job_id)
            assert job.state in TERMINAL, f"{job_id} is still {job.state}: {job.message}"
            assert (job.state is JobState.CANCELLED) == (job.desired is Desired.CANCELLED)
            await _its_training_is_whole(day, tx, job_id)
    await database.close()
    assert sum(day.faults.values()) > 100, f"hardly anything happened: {day.faults}"


async def _its_training_is_whole(day: Day, tx: ReadTx, job_id: JobId) -> None:
    """Each attempt resumed from the newest commit, and a job that completed has made every step."""
    job = await job_queries.find(tx, job_id)
    resumed = await metric_queries.resumed_steps(tx, job_id)
    assert list(resumed.values()) == sorted(resumed.values()), "a later attempt began before an earlier one"
    command = job.spec.program.command
    if job.state is JobState.SUCCEEDED and command[0] == "sleep":
        assert job.reason is Reason.COMPLETED
        assert day.cluster.storage[job_id].step == int(command[1])


async def test_the_same_seed_is_the_same_day(quick_path: Path) -> None:
    days = []
    for name in ("first", "second"):
        folder = quick_path / name
        folder.mkdir()
        day = Day(1, folder)
        await day.run(troubled_steps=30)
        days.append((day.faults, day.now, day.cluster.starts))
    assert days[0] == days[1]
