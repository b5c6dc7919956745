"""Several processes on one database: writers take turns, and a reader that follows the history misses nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest
from sqlalchemy import text, update

from orchestrator.domain.errors import InvalidInput
from orchestrator.domain.job import Event
from orchestrator.store.commands import events as event_commands
from orchestrator.store.database import Database
from orchestrator.store.migrate import migrate
from orchestrator.store.queries import events, jobs
from orchestrator.store.queries.revision import revision
from orchestrator.store.schema import meta
from tests.builders import NOW
from tests.postgres import Postgres

pytestmark = pytest.mark.anyio

WRITERS, EACH = 6, 12


@pytest.fixture
async def replicas(anyio_backend: str, database_url: str) -> AsyncIterator[tuple[Database, Database]]:
    first, second = Database(database_url), Database(database_url)
    await migrate(first)
    yield first, second
    await first.close()
    await second.close()


async def test_what_was_read_in_a_write_stays_true_until_it_ends(replicas: tuple[Database, Database]) -> None:
    async def raise_it(database: Database) -> None:
        async with database.write() as tx:
            seen = await revision(tx)
            await asyncio.sleep(0.002)
            await tx.tell(update(meta).values(revision=seen + 1))

    await asyncio.gather(*(raise_it(database) for _ in range(10) for database in replicas))
    async with replicas[0].read() as tx:
        assert await revision(tx) == 20


async def test_a_read_sees_one_state_whatever_is_written_meanwhile(replicas: tuple[Database, Database]) -> None:
    reader, writer = replicas
    async with reader.read() as tx:
        before = await revision(tx)
        async with writer.write() as other:
            await event_commands.stir(other)
        assert await revision(tx) == before


async def test_a_follower_sees_every_event_once_and_in_order(replicas: tuple[Database, Database]) -> None:
    async def write(database: Database, writer: int) -> None:
        for number in range(EACH):
            async with database.write() as tx:
                await event_commands.append(tx, [Event("test", NOW, f"{writer}.{number}")])
                await asyncio.sleep(0.001 * (writer % 3))  # the slow ones commit late

    followed: list[str] = []

    async def follow() -> None:
        after = 0
        while len(followed) < WRITERS * EACH:
            async with replicas[0].read() as tx:
                found = await events.since(tx, after, None, 5)
            followed.extend(one.event.message for one in found)
            after = found[-1].id if found else after
            await asyncio.sleep(0)

    following = asyncio.create_task(follow())
    await asyncio.gather(*(write(replicas[writer % 2], writer) for writer in range(WRITERS)))
    await asyncio.wait_for(following, 30)
    assert sorted(followed) == sorted(f"{writer}.{number}" for writer in range(WRITERS) for number in range(EACH))
    for writer in range(WRITERS):
        mine = [message for message in followed if message.startswith(f"{writer}.")]
        assert mine == [f"{writer}.{number}" for number in range(EACH)]


async def test_what_no_database_can_hold_is_refused_and_not_a_defect(replicas: tuple[Database, Database]) -> None:
    with suppress(InvalidInput):
        async with replicas[0].read() as tx:
            assert (await jobs.page(tx, jobs.JobFilter(name="a\0b"), 10, None)).jobs == ()


async def test_two_servers_that_start_at_once_migrate_once(postgres: Postgres, anyio_backend: str) -> None:
    url = postgres.create("from_nothing")
    servers = [Database(url) for _ in range(3)]
    await asyncio.gather(*(migrate(server) for server in servers))
    async with servers[0].read() as tx:
        assert (await tx.ask(text("SELECT count(*) FROM alembic_version"))).scalar_one() == 1
    for server in servers:
        await server.close()
    postgres.drop("from_nothing")


async def test_a_process_that_is_paused_inside_a_write_does_not_stop_the_others(
    new_postgres_url: Callable[[], str], anyio_backend: str
) -> None:
    url = new_postgres_url()
    paused, other = Database(url), Database(url)
    stuck = paused.write()
    await stuck.__aenter__()  # and then nothing, as after SIGSTOP
    async with asyncio.timeout(20), other.write() as tx:
        await event_commands.stir(tx)
    with pytest.raises(Exception, match="does not answer"):
        await stuck.__aexit__(None, None, None)
    await paused.close()
    await other.close()
