"""What is kept of the jobs that wait: the newest, and nothing of those that wait no longer."""

import pytest

from orchestrator.domain.outlook import Blocker, Outlook, StartEstimate, Way
from orchestrator.store.commands.outlooks import keep
from orchestrator.store.queries.outlooks import names, outlook
from tests.builders import NOW
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


async def test_an_outlook_comes_back_as_it_was_kept_until_its_job_runs(store: Store) -> None:
    job = await store.submit()
    first = Outlook(job.id, NOW, 1, 1, (Blocker("busy", "no slice is free", (("free", 0),)),), not_before_ms=NOW + 5)
    start, ways = StartEstimate(NOW + 9, NOW + 3, NOW + 27), (Way("cancel it", (job.id,)),)
    second = Outlook(job.id, NOW + 1, 1, 2, first.blockers, start, ways=ways, ways_at_ms=NOW)
    for one in (first, second):
        async with store.database.write_beside() as tx:
            await keep(tx, [one])
        async with store.database.read() as tx:
            assert await outlook(tx, job.id) == one
    await store.start(job)
    async with store.database.write_beside() as tx:
        await keep(tx, [])
    async with store.database.read() as tx:
        assert await outlook(tx, job.id) is None


async def test_only_jobs_that_the_caller_sees_have_names(store: Store) -> None:
    ours, theirs = await store.submit("ours"), await store.submit("theirs", project="theirs")
    async with store.database.read() as tx:
        assert await names(tx, [ours.id, theirs.id], {"default"}) == {ours.id: "ours"}
        assert len(await names(tx, [ours.id, theirs.id], None)) == 2
