"""Posts of many attempts share transactions, and none suffers for another."""

import asyncio

import pytest

from orchestrator.domain.errors import InvalidInput, NotFound
from orchestrator.domain.ids import AttemptId
from orchestrator.domain.job import Attempt
from orchestrator.store.ingest import Piece
from orchestrator.store.intake import Intake
from tests.builders import NOW
from tests.contracts.spools import lines, metric, points, progress, saved
from tests.contracts.stores import SLICES, Store

pytestmark = pytest.mark.anyio


@pytest.fixture
async def attempts(store: Store) -> list[Attempt]:
    return [await store.start(await store.submit(f"toy-{number}"), name) for number, name in enumerate(SLICES)]


def spool(offset: int, data: bytes) -> list[Piece]:
    return [Piece(0, "spool", offset, data)]


async def test_what_many_attempts_post_at_once_is_kept_for_each(store: Store, attempts: list[Attempt]) -> None:
    intake, first, second = Intake(store.database, store.blobs), *attempts
    said = [lines(metric(1, loss=2.0)), lines(metric(1, loss=3.0), saved("committed", 1, "1/1"))]
    answers = await asyncio.gather(
        intake.take(first.id, spool(0, said[0]), NOW),
        intake.take(second.id, spool(0, said[1]), NOW),
        intake.take(first.id, spool(len(said[0]), said[0]), NOW),  # of the same attempt: after its first
        intake.take(first.id, spool(0, said[0]), NOW),  # repeated
    )
    assert [offsets[0].offset for offsets in answers] == [
        len(said[0]),
        len(said[1]),
        2 * len(said[0]),
        2 * len(said[0]),
    ]
    assert [value for *_, value in await points(store, first)] == [2.0]
    assert [value for *_, value in await points(store, second)] == [3.0]
    assert ((await progress(store, first)).committed_step, (await progress(store, second)).committed_step) == (None, 1)


async def test_a_post_that_is_refused_hinders_no_other(store: Store, attempts: list[Attempt]) -> None:
    intake, first, _ = Intake(store.database, store.blobs), *attempts
    said = lines(metric(1, loss=2.0))
    kept, unknown = await asyncio.gather(
        intake.take(first.id, spool(0, said), NOW),
        intake.take(AttemptId("att_nobody"), spool(0, said), NOW),
        return_exceptions=True,
    )
    assert isinstance(unknown, NotFound)
    assert not isinstance(kept, BaseException)
    assert kept[0].offset == len(said)


async def test_what_the_database_does_not_take_of_one_is_refused_to_it_alone(
    store: Store, attempts: list[Attempt]
) -> None:
    if store.database.dialect == "sqlite":
        pytest.skip("SQLite keeps any text")
    intake, first, second = Intake(store.database, store.blobs), *attempts
    bad = AttemptId(f"{first.id}\0")
    said = lines(metric(1, loss=2.0))
    kept, refused = await asyncio.gather(
        intake.take(second.id, spool(0, said), NOW), intake.take(bad, spool(0, said), NOW), return_exceptions=True
    )
    assert isinstance(refused, InvalidInput)
    assert not isinstance(kept, BaseException)
    assert kept[0].offset == len(said)


async def test_whoever_leaves_before_the_answer_holds_up_nobody(store: Store, attempts: list[Attempt]) -> None:
    intake, first, second = Intake(store.database, store.blobs), *attempts
    said = lines(metric(1, loss=2.0))
    leaving = asyncio.create_task(intake.take(first.id, spool(0, said), NOW))
    staying = asyncio.create_task(intake.take(second.id, spool(0, said), NOW))
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying)[0].offset == len(said)
    assert (await intake.take(first.id, spool(0, said), NOW))[0].offset == len(said)  # it was stored all the same
