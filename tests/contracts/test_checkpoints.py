"""What is on record of checkpoints, whoever reported them and in which order."""

import pytest

from orchestrator.domain.job import Attempt
from orchestrator.store.queries import histories, reports
from tests.builders import NOW
from tests.contracts.spools import lines, metric, progress, saved
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


async def test_a_damaged_checkpoint_of_an_earlier_attempt_is_set_aside(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines(saved("committed", 20, "one/20"), saved("committed", 40, "one/40")))
    await store.end(attempt)
    second = await store.start(await store.job(attempt.job_id))
    await store.post(second, lines(saved("quarantined", 40, "one/40"), saved("restored", 20, "one/20")))
    async with store.database.read() as tx:
        found = await reports.checkpoints_of(tx, attempt.job_id)
    assert [(one.step, one.state) for one in found] == [(20, "committed"), (40, "quarantined")]


async def test_a_restored_step_is_registered_for_the_attempt_that_made_it(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines(metric(20, loss=1.0), metric(60, loss=1.0) | {"at_ms": NOW + 9}))
    await store.end(attempt)
    second = await store.start(await store.job(attempt.job_id))
    restored = lines(saved("restored", 40, "1/40") | {"at_ms": NOW + 99, "step_at_ms": None, "save_ms": None})
    await store.post(second, restored)
    async with store.database.read() as tx:
        (found,) = await reports.checkpoints_of(tx, attempt.job_id)
        first, _ = await histories.histories(tx, attempt.job_id)
    assert (found.attempt, found.step, found.path, found.state) == (1, 40, "1/40", "committed")
    assert (await progress(store, attempt)).committed_step == 40
    assert first.commits == ((40, NOW),)  # when it was last seen not to be beyond it
    assert [p.committed_step for p in (await store.world()).progress.values()] == [40]
    # Its own report, which comes late, says more.
    spool = lines(metric(20, loss=1.0), metric(60, loss=1.0) | {"at_ms": NOW + 9})
    await store.post(attempt, lines(saved("committed", 40, "1/40")), offset=len(spool))
    async with store.database.read() as tx:
        (found,) = await reports.checkpoints_of(tx, attempt.job_id)
    assert (found.step_at_ms, found.save_ms) == (NOW - 5, 3)


@pytest.mark.parametrize("path", ["2/40", "9/40", "1/41", "gs://bucket/40", "x"])
async def test_a_restored_step_that_names_no_attempt_of_the_job_registers_nothing(
    store: Store, attempt: Attempt, path: str
) -> None:
    await store.post(attempt, lines(saved("restored", 40, path)))
    async with store.database.read() as tx:
        assert await reports.checkpoints_of(tx, attempt.job_id) == ()
    assert (await progress(store, attempt)).resumed_step == 40
