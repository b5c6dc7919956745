"""What the tick reads of the past: each project's decayed use, and how long like jobs ran."""

from dataclasses import replace

import pytest

from orchestrator.changes import Changes, JobChange
from orchestrator.domain.endings import Reason
from orchestrator.domain.job import Job
from orchestrator.domain.lifecycle import JobState
from orchestrator.scheduler.policy import DEFAULT
from orchestrator.store.queries.world import world
from tests.builders import NOW, an_attempt
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio

DAY = 86_400_000


async def run_to_the_end(store: Store, job: Job, ran_ms: int) -> None:
    attempt = an_attempt(job.id, 1, ordered_at_ms=NOW)
    begun = replace(job, state=JobState.RUNNING, attempts=1, version=job.version + 1)
    await store.apply(Changes(jobs=(JobChange(job.version, begun, started=attempt),)))
    over = replace(begun, state=JobState.SUCCEEDED, ended_at_ms=NOW + ran_ms, version=begun.version + 1)
    gone = replace(attempt, ended_at_ms=NOW + ran_ms, reason=Reason.COMPLETED)
    await store.apply(Changes(jobs=(JobChange(begun.version, over, attempt=gone),)))


async def read(store: Store, now_ms: int):
    async with store.database.read() as tx:
        return await world(tx, now_ms, 1)


async def test_like_jobs_that_finished_are_remembered_by_name_and_by_size(store: Store) -> None:
    for ran_ms in (9_000, 1_000, 3_000):
        await run_to_the_end(store, await store.submit("toy"), ran_ms)
    history = (await read(store, NOW)).history
    assert history["default", "toy", "v5e:2x4"] == (1_000, 3_000)
    assert history["default", "", "v5e:2x4"] == (1_000, 3_000)


async def test_a_live_attempt_counts_to_its_project_from_its_order_on(store: Store) -> None:
    await store.start(await store.submit(project="mine"))
    used = (await read(store, NOW + 100_000)).projects["mine"].usage_chip_ms
    assert used == pytest.approx(8 * 100_900, rel=1e-3)


async def test_use_fades_by_half_with_each_half_life(store: Store) -> None:
    await run_to_the_end(store, await store.submit(project="mine"), DAY // 10)
    fresh = (await read(store, NOW + DAY)).projects["mine"].usage_chip_ms
    later = (await read(store, NOW + DAY + DEFAULT.usage_half_life_ms)).projects["mine"].usage_chip_ms
    assert fresh == pytest.approx(8 * DAY / 10, rel=0.1)
    assert later == pytest.approx(fresh / 2)
    long_after = await read(store, NOW + DAY + 7 * DEFAULT.usage_half_life_ms)
    assert not any(project.usage_chip_ms for project in long_after.projects.values())


async def test_a_new_system_knows_nothing(store: Store) -> None:
    seen = await read(store, NOW)
    assert not any(project.usage_chip_ms for project in seen.projects.values())
    assert seen.history == {}
