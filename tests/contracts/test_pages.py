"""Pages of jobs are exact while jobs are added: nothing twice, nothing left out."""

import itertools

import pytest

from orchestrator.domain.errors import NotFound
from orchestrator.store.queries import jobs
from orchestrator.store.queries.jobs import JobFilter
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("limit", [1, 3, 7])
@pytest.mark.parametrize("oldest_first", [False, True])
async def test_pages_stay_exact_while_jobs_are_added(store: Store, limit: int, oldest_first: bool) -> None:
    first = [(await store.submit(f"toy-{number % 2}")).id for number in range(10)]
    wanted = [id for number, id in enumerate(first) if number % 2 == 0]
    added, seen, after = itertools.count(), [], None
    while True:
        async with store.database.read() as tx:
            page = await jobs.page(tx, JobFilter(name="toy-0"), limit, after, oldest_first=oldest_first)
        seen += [job.id for job in page.jobs]
        after = page.next_after
        if next(added) < 3:
            new = (await store.submit("toy-0")).id
            wanted += [new] if oldest_first else []
        if after is None:
            break
    if oldest_first:  # those that were added before the end was reached may be seen, each once and in order
        assert seen == wanted[: len(seen)]
        assert len(seen) >= 5
    else:
        assert seen == wanted[::-1]


async def test_a_caller_sees_pages_and_jobs_of_their_projects_only(store: Store) -> None:
    mine = await store.submit("toy", project="ours")
    foreign = await store.submit("toy", project="theirs")
    async with store.database.read() as tx:
        page = await jobs.page(tx, JobFilter(seen_by=("ours",)), 10, None)
        assert [job.id for job in page.jobs] == [mine.id]
        assert (await jobs.find(tx, "toy", ("ours",))).id == mine.id
        with pytest.raises(NotFound):
            await jobs.find(tx, foreign.id, ("ours",))
        with pytest.raises(NotFound):
            await jobs.find(tx, "toy", ())
