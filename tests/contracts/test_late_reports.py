"""Who may still report, and what late reports may change."""

from dataclasses import replace

import pytest

from orchestrator.changes import Changes
from orchestrator.domain.errors import NotFound, Superseded
from orchestrator.domain.job import Attempt, Event
from orchestrator.store.ingest import LATE_MS
from tests.builders import NOW, an_attempt
from tests.contracts.spools import lines, metric, points, progress, saved
from tests.contracts.stores import Store, ended

pytestmark = pytest.mark.anyio


async def test_reports_that_come_after_the_successor_began_are_kept_and_change_none_of_its_own(
    store: Store, attempt: Attempt
) -> None:
    await store.end(attempt)
    second = await store.start(await store.job(attempt.job_id))
    await store.post(second, lines(saved("restored", 20, "1/20"), metric(30, loss=2.0), metric(40, loss=2.0)))
    before = await progress(store, second)
    late = lines(*(metric(step, loss=1.0) for step in (10, 20, 30, 50)), saved("committed", 20, "1/20"))
    assert await store.post(attempt, late) == len(late)
    assert await store.post(attempt, b"last words", stream="stdout") == 10
    assert await points(store, second) == [(10, 1, 0, 1.0), (20, 1, 0, 1.0), (30, 2, 0, 2.0), (40, 2, 0, 2.0)]
    assert await progress(store, second) == before
    assert (await progress(store, attempt)).committed_step == 20


@pytest.mark.parametrize("stream", ["spool", "stdout"])
async def test_late_reports_are_taken_until_an_hour_after_the_end_was_recorded(
    store: Store, attempt: Attempt, stream: str
) -> None:
    recorded = NOW + 7 * LATE_MS  # the host ended it long before we could hear of that
    change = ended(await store.job(attempt.job_id), attempt, at_ms=NOW)
    told = Event("job.state", recorded, "waits", attempt.job_id)
    await store.apply(Changes(jobs=(replace(change, events=(told,)),)))
    spool = lines(metric(1, loss=1.0))
    assert await store.post(attempt, spool, stream=stream, now_ms=recorded + LATE_MS - 1) == len(spool)
    with pytest.raises(Superseded):
        await store.post(attempt, b"more\n", offset=len(spool), stream=stream, now_ms=recorded + LATE_MS)


async def test_reports_of_nobody_are_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.post(an_attempt("nobody"), b"x")
