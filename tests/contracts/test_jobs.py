"""What the store promises to those who submit jobs, whatever database is behind it."""

from dataclasses import replace

import pytest

from orchestrator.changes import Changes, JobChange
from orchestrator.domain.errors import Conflict, NotFound
from orchestrator.domain.ids import JobId
from orchestrator.domain.job import Desired
from orchestrator.domain.lifecycle import JobState
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.commands.jobs import IdempotencyKey
from orchestrator.store.queries import jobs as job_queries
from orchestrator.store.queries.jobs import JobFilter
from tests.builders import NOW, a_spec
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


async def test_a_submitted_job_reads_back_as_it_was(store: Store) -> None:
    job = await store.submit(slices=("v5e:4x4", "v5e:2x4"), env_vars={"A": "ü\n=$(id)"})
    assert job.spec == a_spec(slices=("v5e:4x4", "v5e:2x4"), env_vars={"A": "ü\n=$(id)"})
    assert (await store.world()).jobs == (job,)


async def test_the_same_key_and_body_is_the_same_job_and_another_body_is_refused(store: Store) -> None:
    key = IdempotencyKey("somebody", "k1")
    async with store.database.write() as tx:
        first = await job_commands.submit(tx, a_spec(), JobId("job_a"), NOW, key)
        again = await job_commands.submit(tx, a_spec(), JobId("job_b"), NOW, key)
        with pytest.raises(Conflict, match="job_a"):
            await job_commands.submit(tx, a_spec(name="other"), JobId("job_c"), NOW, key)
        theirs = await job_commands.submit(tx, a_spec(), JobId("job_d"), NOW, IdempotencyKey("other", "k1"))
    assert (first, again, theirs) == (("job_a", True), ("job_a", False), ("job_d", True))


async def test_pages_are_exact_while_jobs_arrive(store: Store) -> None:
    for _ in range(5):
        await store.submit()
    async with store.database.read() as tx:
        first = await job_queries.page(tx, JobFilter(), 2, None)
    await store.submit()
    async with store.database.read() as tx:
        second = await job_queries.page(tx, JobFilter(), 2, first.next_after)
        last = await job_queries.page(tx, JobFilter(), 2, second.next_after)
    pages = [[job.id for job in page.jobs] for page in (first, second, last)]
    assert pages == [["job_5", "job_4"], ["job_3", "job_2"], ["job_1"]]
    assert last.next_after is None


async def test_a_name_means_its_newest_job(store: Store) -> None:
    await store.submit("a")
    newest = await store.submit("a")
    await store.submit("b")
    assert (await store.job("a")).id == newest.id
    with pytest.raises(NotFound):
        await store.job("c")


async def test_cancelling_is_intent_and_asking_twice_changes_nothing(store: Store) -> None:
    job = await store.submit()
    for _ in range(2):
        async with store.database.write() as tx:
            await job_commands.cancel(tx, job.id, NOW)
    asked = await store.job(job.id)
    assert (asked.state, asked.desired, asked.version) == (JobState.QUEUED, Desired.CANCELLED, job.version + 1)


async def test_a_job_that_ended_otherwise_cannot_be_cancelled(store: Store) -> None:
    job = await store.submit()
    over = replace(job, state=JobState.FAILED, ended_at_ms=NOW, version=2)
    await store.apply(Changes(jobs=(JobChange(1, over),)))
    with pytest.raises(Conflict, match="FAILED"):
        async with store.database.write() as tx:
            await job_commands.cancel(tx, job.id, NOW)
