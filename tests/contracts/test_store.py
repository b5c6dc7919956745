"""What the store promises to the tick, to users and to clusters, whatever database is behind it."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from orchestrator.changes import Changes, JobChange, SliceChange
from orchestrator.domain.errors import Conflict, NotFound
from orchestrator.domain.ids import JobId
from orchestrator.domain.job import Desired, Event, RankStarted, Stop
from orchestrator.domain.lifecycle import JobState
from orchestrator.protocol import Fact, GangReady, SliceDown
from orchestrator.store import lease, rows
from orchestrator.store.commands import fleet as fleet_commands
from orchestrator.store.commands import jobs as job_commands
from orchestrator.store.commands.jobs import IdempotencyKey
from orchestrator.store.lease import LeaseLost
from orchestrator.store.queries import events, fleet
from orchestrator.store.queries import jobs as job_queries
from orchestrator.store.queries.jobs import JobFilter
from orchestrator.store.queries.revision import revision as read_revision
from orchestrator.store.schema import attempts, jobs
from tests.builders import LOCAL, NOW, a_slice, a_spec, a_stop, an_attempt
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


# ---------------------------------------------------------------------------------------------------------------- jobs


async def test_a_submitted_job_reads_back_as_it_was(store: Store) -> None:
    job = await store.submit(slices=("v5e:4x4", "v5e:2x4"), env_vars={"A": "ü\n=$(id)"})
    assert job.spec == a_spec(slices=("v5e:4x4", "v5e:2x4"), env_vars={"A": "ü\n=$(id)"})
    assert (await store.world()).jobs == (job,)


async def test_the_same_key_and_body_is_the_same_job_and_another_body_is_refused(store: Store) -> None:
    key = IdempotencyKey("somebody", "k1")
    async with store.database.write() as tx:
        first = await job_commands.submit(tx, a_spec(), JobId("job_a"), NOW, key)
        again = await job_commands.submit(tx, a_spec(), JobId("job_b"), NOW, key)
        with pytest.raises(Conflict, match="job_a"):
            await job_commands.submit(tx, a_spec(name="other"), JobId("job_c"), NOW, key)
        theirs = await job_commands.submit(tx, a_spec(), JobId("job_d"), NOW, IdempotencyKey("other", "k1"))
    assert (first, again, theirs) == (("job_a", True), ("job_a", False), ("job_d", True))


async def test_pages_are_exact_while_jobs_arrive(store: Store) -> None:
    for _ in range(5):
        await store.submit()
    async with store.database.read() as tx:
        first = await job_queries.page(tx, JobFilter(), 2, None)
    await store.submit()
    async with store.database.read() as tx:
        second = await job_queries.page(tx, JobFilter(), 2, first.next_after)
        last = await job_queries.page(tx, JobFilter(), 2, second.next_after)
    pages = [[job.id for job in page.jobs] for page in (first, second, last)]
    assert pages == [["job_5", "job_4"], ["job_3", "job_2"], ["job_1"]]
    assert last.next_after is None


async def test_a_name_means_its_newest_job(store: Store) -> None:
    await store.submit("a")
    newest = await store.submit("a")
    await store.submit("b")
    assert (await store.job("a")).id == newest.id
    with pytest.raises(NotFound):
        await store.job("c")


async def test_cancelling_is_intent_and_asking_twice_changes_nothing(store: Store) -> None:
    job = await store.submit()
    for _ in range(2):
        async with store.database.write() as tx:
            await job_commands.cancel(tx, job.id, NOW)
    asked = await store.job(job.id)
    assert (asked.state, asked.desired, asked.version) == (JobState.QUEUED, Desired.CANCELLED, job.version + 1)


async def test_a_job_that_ended_otherwise_cannot_be_cancelled(store: Store) -> None:
    job = await store.submit()
    over = replace(job, state=JobState.FAILED, ended_at_ms=NOW, version=2)
    await store.apply(Changes(jobs=(JobChange(1, over),)))
    with pytest.raises(Conflict, match="FAILED"):
        async with store.database.write() as tx:
            await job_commands.cancel(tx, job.id, NOW)


# ---------------------------------------------------------------------------------------------------------------- ticks


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


# ---------------------------------------------------------------------------------------------------------------- facts


async def test_repeated_facts_have_no_effect(store: Store) -> None:
    async with store.database.write() as tx:
        assert await fleet_commands.add_facts(tx, LOCAL, [down(2), down(1)]) == {"cluster": 2}
    async with store.database.write() as tx:
        assert await fleet_commands.add_facts(tx, LOCAL, [down(1), down(2), down(3)]) == {"cluster": 3}
        assert await fleet_commands.add_facts(tx, LOCAL, [down(2)]) == {"cluster": 3}
    assert [fact.body.message for fact in (await store.world()).facts] == ["told 1", "told 2", "told 3"]  # type: ignore[union-attr]


async def test_facts_that_were_taken_in_do_not_come_back(store: Store) -> None:
    async with store.database.write() as tx:
        await fleet_commands.add_facts(tx, LOCAL, [down(1)])
    await store.apply(Changes(ignored=tuple(fact.row_id for fact in (await store.world()).facts)))
    async with store.database.write() as tx:
        assert await fleet_commands.add_facts(tx, LOCAL, [down(1)]) == {"cluster": 1}
    assert (await store.world()).facts == ()


async def test_each_source_counts_for_itself(store: Store) -> None:
    ready = GangReady("gang_ready", an_attempt().id, (RankStarted(0, a_slice().id, 0, 1, NOW),), NOW)
    async with store.database.write() as tx:
        kept = await fleet_commands.add_facts(tx, LOCAL, [down(7), Fact("slice/pool-0", 1, ready)])
    assert kept == {"cluster": 7, "slice/pool-0": 1}
    assert [fact.source for fact in (await store.world()).facts] == ["cluster", "slice/pool-0"]


# ---------------------------------------------------------------------------------------------------------------- tx


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
