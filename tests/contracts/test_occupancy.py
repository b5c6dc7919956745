import pytest

from orchestrator.store.queries import occupancy
from tests.builders import NOW
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


async def test_stays_are_those_that_had_not_ended_newest_first(store: Store) -> None:
    over = await store.start(await store.submit("over"), "pool-0")
    await store.end(over, at_ms=NOW)
    runs = await store.start(await store.submit("runs"), "pool-1")
    async with store.database.read() as tx:
        lately = await occupancy.stays(tx, NOW - 1, 10, None)
        now = await occupancy.stays(tx, NOW, 10, None)
        foreign = await occupancy.stays(tx, 0, 10, ("theirs",))
    assert {(one.attempt_id, one.job_name, one.until_ms) for one in lately} == {
        (over.id, "over", NOW),
        (runs.id, "runs", None),
    }
    assert [one.attempt_id for one in now] == [runs.id]
    assert foreign == ()
