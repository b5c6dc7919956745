"""What a transaction promises, whatever database is behind it."""

import asyncio

import pytest

from orchestrator.domain.errors import NotFound
from orchestrator.domain.ids import JobId
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.queries import jobs as job_queries
from tests.builders import NOW, a_spec
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


async def test_readers_do_not_see_what_is_not_committed(store: Store) -> None:
    async with store.database.write() as tx:
        await job_commands.submit(tx, a_spec(), JobId("job_x"), NOW)
        assert (await store.world()).jobs == ()
    assert len((await store.world()).jobs) == 1


async def test_a_transaction_that_raises_writes_nothing_and_does_not_ring(store: Store) -> None:
    ring = store.database.commits.next_ring()
    with pytest.raises(NotFound):
        await _submit_then_fail(store)
    assert (await store.world()).jobs == ()
    assert not ring.is_set()


async def _submit_then_fail(store: Store) -> None:
    async with store.database.write() as tx:
        await job_commands.submit(tx, a_spec(), JobId("job_x"), NOW)
        await job_queries.find(tx, "nobody")


async def test_writers_at_once_take_turns(store: Store) -> None:
    async def submit(number: int) -> None:
        async with store.database.write() as tx:
            await job_commands.submit(tx, a_spec(), JobId(f"job_{number}"), NOW)

    await asyncio.gather(*(submit(number) for number in range(30)))
    assert len((await store.world()).jobs) == 30
