"""A list's searches, counts and outlines are the same on every database."""

from typing import Any

import pytest

from orchestrator.domain.lifecycle import JobState
from orchestrator.store.queries import glances, jobs
from orchestrator.store.queries.jobs import JobFilter
from tests.contracts.spools import lines, metric, saved
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


def made(step: int, loss: float) -> tuple[dict[str, Any], ...]:
    return metric(step, loss=loss), {"type": "progress", "step": step, "total_steps": 200}


async def test_an_outline_joins_attempts_and_leaves_out_what_a_restart_undid(store: Store) -> None:
    job = await store.submit()
    first = await store.start(job)
    await store.post(first, lines(*(one for step in range(1, 91) for one in made(step, 1.0))))
    await store.end(first)
    second = await store.start(job)
    await store.post(second, lines(saved("restored", 60), *(one for n in range(61, 121) for one in made(n, 2.0))))
    async with store.database.read() as tx:
        (glance,) = await glances.glances(tx, [job.id], "loss", 20, None)
        assert await glances.glances(tx, [job.id], "loss", 20, ("theirs",)) == ()
    assert glance.attempt is not None
    assert glance.attempt.id == second.id
    steps = [step for step, _ in glance.outline]
    assert (steps[0], steps[-1], len(steps)) == (1, 120, 20)
    assert {value for step, value in glance.outline if step <= 60} == {1.0}
    assert {value for step, value in glance.outline if step > 60} == {2.0}


async def test_search_ignores_case_and_counts_go_with_it(store: Store) -> None:
    for name in ("llama-8b", "gemma-2b", "gemma_2b"):
        await store.submit(name)
    async with store.database.read() as tx:
        page = await jobs.page(tx, JobFilter(search="LLAMA", states=(JobState.QUEUED,)), 10, None)
        assert [job.spec.name for job in page.jobs] == ["llama-8b"]
        assert await jobs.counts(tx, JobFilter(search="a_2")) == {JobState.QUEUED: 1}
        assert await jobs.counts(tx, JobFilter(states=(JobState.FAILED,))) == {}
