"""What the store promises to the tick, whatever database is behind it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from orchestrator.changes import Changes, JobChange, SliceChange
from orchestrator.domain.job import Event, RankStarted, Stop
from orchestrator.domain.lifecycle import JobState
from orchestrator.protocol import Fact, SliceDown
from orchestrator.store import lease, rows
from orchestrator.store.commands import fleet as fleet_commands
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.lease import LeaseLost
from orchestrator.store.queries import events, fleet
from orchestrator.store.queries.revision import revision as read_revision
from orchestrator.store.schema import attempts, jobs
from tests.builders import LOCAL, NOW, a_slice, a_stop, an_attempt
from tests.contracts.stores import Store, ended, started

pytestmark = pytest.mark.anyio


def down(sequence: int, source: str = "cluster") -> Fact:
    return Fact(source, sequence, SliceDown("slice_down", a_slice().id, "inc-1", f"told {sequence}", NOW))


async def order_revision(store: Store) -> int:
    async with store.database.read() as tx:
        return await fleet.order_revision(tx, LOCAL)


async def revision(store: Store) -> int:
    async with store.database.read() as tx:
        return await read_revision(tx)


async def test_a_missed_fence_drops_only_that_jobs_changes(store: Store) -> None:
    moved, calm = await store.submit(), await store.submit()
    async with store.database.write() as tx:
        await job_commands.cancel(tx, moved.id, NOW)
    told = Event("job.state", NOW, "starts", moved.id)
    stale = replace(started(moved, an_attempt(moved.id)), events=(told,))
    applied = await store.apply(Changes(jobs=(stale, started(calm, an_attempt(calm.id, slices=("pool-1",))))))
    world = await store.world()
    assert (applied.jobs, applied.dropped) == (1, (moved.id,))
    assert [job.state for job in world.jobs] == [JobState.QUEUED, JobState.STARTING]
    assert [attempt.job_id for attempt in world.attempts] == [calm.id]


async def test_a_dropped_change_keeps_its_facts_and_a_written_one_takes_them_in(store: Store) -> None:
    job = await store.submit()
    async with store.database.write() as tx:
        await fleet_commands.add_facts(tx, LOCAL, [down(1)])
    fact = (await store.world()).facts[0]
    change = replace(started(job, an_attempt(job.id)), folded=(fact.row_id,))
    await store.apply(Changes(jobs=(replace(change, seen_version=99),)))
    assert (await store.world()).facts == (fact,)
    await store.apply(Changes(jobs=(change,)))
    assert (await store.world()).facts == ()


async def test_a_slice_never_holds_two_live_attempts(store: Store) -> None:
    first, second, third = [await store.submit() for _ in range(3)]
    changes = Changes(
        jobs=(
            started(first, an_attempt(first.id)),
            started(second, an_attempt(second.id)),
            started(third, an_attempt(third.id, slices=("pool-1",))),
        )
    )
    applied = await store.apply(changes)
    assert (applied.jobs, applied.dropped) == (2, (second.id,))
    assert [job.state for job in (await store.world()).jobs] == ["STARTING", "QUEUED", "STARTING"]


async def test_two_jobs_may_swap_their_slices_in_one_tick(store: Store) -> None:
    one, two = await store.submit(), await store.submit()
    old_one, old_two = await store.start(one, "pool-0"), await store.start(two, "pool-1")
    one, two = await store.job(one.id), await store.job(two.id)
    swapped = (
        replace(ended(one, old_one), started=an_attempt(one.id, 2, ("pool-1",))),
        replace(ended(two, old_two), started=an_attempt(two.id, 2, ("pool-0",))),
    )
    applied = await store.apply(Changes(jobs=swapped))
    assert applied.dropped == ()
    assert {a.job_id: a.slices for a in (await store.world()).attempts} == {one.id: ("pool-1",), two.id: ("pool-0",)}


async def test_a_job_has_at_most_one_live_attempt(store: Store) -> None:
    job = await store.submit()
    await store.start(job)
    second = rows.attempt_row(an_attempt(job.id, 2, ("pool-1",)))
    with pytest.raises(IntegrityError):
        async with store.database.write() as tx:
            await tx.tell(insert(attempts).values(second))


async def test_the_database_refuses_a_state_that_does_not_exist(store: Store) -> None:
    job = await store.submit()
    with pytest.raises(IntegrityError):
        async with store.database.write() as tx:
            await tx.tell(jobs.update().where(jobs.c.id == job.id).values(state="LOST"))


async def test_event_numbers_of_a_job_have_no_gap(store: Store) -> None:
    job, other = await store.submit(), await store.submit()
    for one in (job, other, job):
        told = Event("told", NOW, "something", one.id, data=(("n", 1), ("s", "x"), ("none", None)))
        now = await store.job(one.id)
        await store.apply(
            Changes(jobs=(JobChange(now.version, replace(now, version=now.version + 1), events=(told,)),))
        )
    async with store.database.read() as tx:
        found = await events.since(tx, 0, job.id, 100)
    assert [(one.sequence, one.event.kind) for one in found] == [(1, "job.submitted"), (2, "told"), (3, "told")]
    assert found[1].event.data == (("n", 1), ("s", "x"), ("none", None))


async def test_orders_get_a_new_revision_only_when_they_change(store: Store) -> None:
    job = await store.submit()
    seen = [await order_revision(store)]
    attempt = await store.start(job)
    seen.append(await order_revision(store))
    now = await store.job(job.id)
    ranks = (RankStarted(0, attempt.slices[0], 0, 42, NOW),)
    ready = replace(attempt, ready_at_ms=NOW)
    running = replace(now, state=JobState.RUNNING, version=now.version + 1)
    await store.apply(Changes(jobs=(JobChange(now.version, running, attempt=ready, ranks=ranks),)))
    seen.append(await order_revision(store))
    stopping = replace(running, state=JobState.STOPPING, version=running.version + 1)
    stopped = replace(ready, stop=a_stop())
    await store.apply(Changes(jobs=(JobChange(running.version, stopping, attempt=stopped),)))
    seen.append(await order_revision(store))
    await store.end(stopped)
    seen.append(await order_revision(store))
    assert [after - before for before, after in pairwise(seen)] == [1, 0, 1, 1]


async def test_a_clusters_standing_is_its_live_attempts_with_their_jobs(store: Store) -> None:
    job = await store.submit()
    attempt = await store.start(job)
    async with store.database.read() as tx:
        standing = await fleet.standing(tx, LOCAL)
    assert standing.epoch == store.lease.epoch
    assert [(found.id, run) for found, run in standing.runs] == [(job.id, attempt)]


async def test_an_attempt_reads_back_as_it_was(store: Store) -> None:
    attempt = await store.start(await store.submit())
    stopping = replace(attempt, ready_at_ms=NOW, stop=Stop(a_stop().reason, 5, NOW), last_sign_at_ms=7)
    job = await store.job(attempt.job_id)
    await store.apply(Changes(jobs=(JobChange(job.version, replace(job, version=9), attempt=stopping),)))
    assert (await store.world()).attempts == (stopping,)


async def test_a_wait_is_explained_only_to_jobs_that_still_wait(store: Store) -> None:
    waiting, running = await store.submit(), await store.submit()
    await store.start(running)
    await store.apply(Changes(waits=((waiting.id, "no free slice"), (running.id, "no free slice"))))
    assert [job.message for job in (await store.world()).jobs] == ["no free slice", ""]


async def test_slices_are_kept_as_last_described(store: Store) -> None:
    fresh = replace(a_slice(), incarnation="inc-2", message="back again")
    await store.apply(Changes(slices=(SliceChange(fresh, events=(Event("slice.up", NOW, "up", slice_id=fresh.id),)),)))
    assert (await store.world()).slices[0] == fresh


async def test_only_changes_move_the_revision(store: Store) -> None:
    before = await revision(store)
    await store.apply(Changes())
    assert await revision(store) == before
    await store.submit()
    assert await revision(store) > before


async def test_nothing_is_written_under_a_lost_lease(store: Store) -> None:
    job = await store.submit()
    async with store.database.write() as tx:
        await lease.take(tx, "another", await lease.read(tx))
    with pytest.raises(LeaseLost):
        await store.apply(Changes(jobs=(started(job, an_attempt(job.id)),)))
    assert (await store.job(job.id)).state is JobState.QUEUED
