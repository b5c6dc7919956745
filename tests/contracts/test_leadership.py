"""Exactly one process ticks; which one follows from the lease row alone."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from orchestrator.changes import Changes
from orchestrator.domain.ids import NewId
from orchestrator.reconciler.loop import Leadership, Loop
from orchestrator.store import lease
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.database import Database
from orchestrator.store.migrate import migrate
from orchestrator.world import World
from tests.builders import NOW, a_spec
from tests.contracts.clock import ManualClock

pytestmark = pytest.mark.anyio

LAPSE_MS = 5_000


def new_id(prefix: str) -> str:
    return f"{prefix}_x"


class Decider:
    """Decides nothing, and remembers what it was shown."""

    def __init__(self, due_at_ms: int | None = None) -> None:
        self.worlds: list[World] = []
        self.due_at_ms = due_at_ms
        self.failures = 0

    def __call__(self, world: World, _new_id: NewId) -> Changes:
        self.worlds.append(world)
        if self.failures:
            self.failures -= 1
            raise ZeroDivisionError
        return Changes(due_at_ms=self.due_at_ms)


@pytest.fixture
async def database(anyio_backend: str, database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url)
    await migrate(opened)
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


def leadership(database: Database, clock: ManualClock, holder: str) -> Leadership:
    return Leadership(database, clock, holder, LAPSE_MS)


def epoch(leading: Leadership) -> int | None:
    return None if leading.held is None else leading.held.epoch


async def test_the_first_to_come_leads_and_the_second_waits(database: Database, clock: ManualClock) -> None:
    first, second = leadership(database, clock, "first"), leadership(database, clock, "second")
    for _ in range(20):
        await first.beat()
        await second.beat()
        clock.advance(1_000)
    assert (first.held is not None, second.held) == (True, None)


async def test_a_lease_that_stands_still_is_taken_with_a_higher_epoch(database: Database, clock: ManualClock) -> None:
    first, second = leadership(database, clock, "first"), leadership(database, clock, "second")
    await first.beat()
    await second.beat()
    clock.advance(LAPSE_MS - 1)
    await second.beat()
    assert epoch(second) is None
    clock.advance(1)
    await second.beat()
    assert (epoch(first), epoch(second)) == (1, 2)
    await first.beat()
    assert epoch(first) is None


async def test_a_beat_that_waits_to_write_while_a_tick_finds_the_lease_lost_ends_quietly(
    database: Database, clock: ManualClock
) -> None:
    first = leadership(database, clock, "first")
    await first.beat()
    async with database.write() as tx:
        beating = asyncio.create_task(first.beat())
        await asyncio.sleep(0)  # it holds what it would renew, and waits
        assert await lease.take(tx, "second", await lease.read(tx)) is not None
        first.lose()  # as the loop does, whose tick finds it out
    await beating
    assert first.held is None


async def test_a_jump_of_the_wall_clock_takes_no_lease(database: Database, clock: ManualClock) -> None:
    first, second = leadership(database, clock, "first"), leadership(database, clock, "second")
    await first.beat()
    await second.beat()
    clock.jump_wall(86_400_000)
    await second.beat()
    assert second.held is None


async def test_a_clean_stop_hands_over_at_once(database: Database, clock: ManualClock) -> None:
    first, second = leadership(database, clock, "first"), leadership(database, clock, "second")
    await first.beat()
    await first.leave()
    await second.beat()
    assert epoch(second) == 2


async def test_the_loop_ticks_only_when_something_changed(database: Database, clock: ManualClock) -> None:
    leading, decider = leadership(database, clock, "one"), Decider()
    loop = Loop(database, clock, decider, new_id, leading)
    assert await loop.step() is None
    await leading.beat()
    assert await loop.step() is not None
    assert await loop.step() is None
    async with database.write() as tx:
        await job_commands.submit(tx, a_spec(), new_id("job"), NOW)  # type: ignore[arg-type]
    assert await loop.step() is not None
    assert await loop.step() is None
    assert [len(world.jobs) for world in decider.worlds] == [0, 1]


async def test_the_loop_ticks_when_time_makes_it_due(database: Database, clock: ManualClock) -> None:
    leading, decider = leadership(database, clock, "one"), Decider(due_at_ms=NOW + 500)
    loop = Loop(database, clock, decider, new_id, leading)
    await leading.beat()
    await loop.step()
    clock.advance(499)
    assert await loop.step() is None
    clock.advance(1)
    assert await loop.step() is not None


async def test_a_tick_that_fails_is_tried_again_and_the_loop_goes_on(database: Database, clock: ManualClock) -> None:
    leading, decider = leadership(database, clock, "one"), Decider()
    decider.failures = 2
    stopping = asyncio.Event()
    running = asyncio.create_task(Loop(database, clock, decider, new_id, leading).run(stopping))
    while len(decider.worlds) < 3:
        waits = clock.next_wait()
        clock.advance(100)
        await waits.wait()
    stopping.set()
    database.commits.ring()
    await running
    assert len(decider.worlds) >= 3
