"""What ranks report has effect exactly once, in whatever pieces and however often it is posted."""

import math
from typing import Any

import pytest

from orchestrator.domain.job import Attempt, Progress
from orchestrator.store.ingest import Piece, ingest
from orchestrator.store.queries import events, histories, metrics
from orchestrator.store.reports import MAX_NOTICES
from tests.builders import NOW
from tests.contracts.spools import kinds, lines, metric, points, progress, saved
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


async def test_the_same_post_twice_counts_once(store: Store, attempt: Attempt) -> None:
    spool = lines(metric(1, loss=2.5), saved("committed", 1))
    assert await store.post(attempt, spool) == len(spool)
    assert await store.post(attempt, spool) == len(spool)
    assert await points(store, attempt) == [(1, 1, 0, 2.5)]
    assert await kinds(store, attempt) == ["job.submitted", "checkpoint.committed"]


async def test_a_gap_is_answered_with_the_byte_that_is_missing(store: Store, attempt: Attempt) -> None:
    first, second = lines(metric(1, loss=1.0)), lines(metric(2, loss=2.0))
    assert await store.post(attempt, second, offset=len(first)) == 0
    assert await points(store, attempt) == []
    assert await store.post(attempt, first) == len(first)
    assert await store.post(attempt, second, offset=len(first)) == len(first + second)
    assert [step for step, *_ in await points(store, attempt)] == [1, 2]


async def test_overlapping_posts_are_trimmed(store: Store, attempt: Attempt) -> None:
    first, second = lines(metric(1, loss=1.0)), lines(metric(2, loss=2.0))
    await store.post(attempt, first)
    assert await store.post(attempt, first + second) == len(first + second)
    assert [step for step, *_ in await points(store, attempt)] == [1, 2]


async def test_a_torn_line_waits_for_its_end(store: Store, attempt: Attempt) -> None:
    whole = lines(metric(1, loss=1.0), metric(2, loss=2.0))
    torn = whole[:-7]
    end_of_first = whole.index(b"\n") + 1
    assert await store.post(attempt, torn) == end_of_first
    assert await store.post(attempt, whole[end_of_first:], offset=end_of_first) == len(whole)
    assert [step for step, *_ in await points(store, attempt)] == [1, 2]
    assert "spool.invalid" not in await kinds(store, attempt)


@pytest.mark.parametrize("size", [1, 7, 64])
async def test_any_cut_of_the_stream_gives_the_same_rows(store: Store, attempt: Attempt, size: int) -> None:
    whole = lines(metric(1, loss=1.0), {"type": "phase", "phase": "train"}, metric(2, loss=math.pi))
    offset = 0
    for end in range(size, len(whole) + size, size):
        offset = await store.post(attempt, whole[offset:end], offset=offset)
    assert offset == len(whole)
    assert await points(store, attempt) == [(1, 1, 0, 1.0), (2, 1, 0, math.pi)]
    assert (await progress(store, attempt)).phase == "train"


async def test_a_last_line_without_an_end_is_taken_when_the_attempt_is_over(store: Store, attempt: Attempt) -> None:
    spool = lines(metric(1, loss=1.0))[:-1]
    assert await store.post(attempt, spool) == 0
    await store.end(attempt)
    assert await store.post(attempt, spool) == len(spool)
    assert await points(store, attempt) == [(1, 1, 0, 1.0)]


async def test_a_last_line_without_an_end_is_taken_at_once_if_nothing_follows(store: Store, attempt: Attempt) -> None:
    spool = lines(metric(1, loss=1.0), metric(2, loss=2.0))[:-1]
    assert await store.post(attempt, spool) < len(spool)
    assert await store.post(attempt, spool, final=True) == len(spool)
    assert await store.post(attempt, spool, final=True) == len(spool)
    assert await points(store, attempt) == [(1, 1, 0, 1.0), (2, 1, 0, 2.0)]


async def test_lines_that_cannot_be_read_are_skipped_and_told_once(store: Store, attempt: Attempt) -> None:
    spool = b"garbage\n" + lines(metric(-1, loss=1.0), metric(2, loss=2.0)) + b"\xff\xfe\n"
    offset = await store.post(attempt, spool)
    await store.post(attempt, b"more garbage\n", offset=offset)
    assert await points(store, attempt) == [(2, 1, 0, 2.0)]
    assert (await kinds(store, attempt)).count("spool.invalid") == 1


async def test_what_a_program_tells_is_in_the_jobs_history_up_to_a_bound_of_each_attempt(
    store: Store, attempt: Attempt
) -> None:
    def told(number: int) -> dict[str, Any]:
        return {"type": "event", "kind": "starved", "message": f"waited {number}", "step": number}

    spool = lines(*(told(number) for number in range(MAX_NOTICES - 1)))
    assert await store.post(attempt, spool) == await store.post(attempt, spool) == len(spool)
    more = lines(told(1000), told(1001), told(1002))
    assert await store.post(attempt, more, offset=len(spool)) == len(spool) + len(more)
    await store.post(attempt, lines(told(1003)), offset=len(spool) + len(more))
    async with store.database.read() as tx:
        history = [one.event for one in await events.since(tx, 0, attempt.job_id, 1000)]
    starved = [event for event in history if event.kind == "program.starved"]
    assert len(starved) == MAX_NOTICES
    assert (starved[-1].message, dict(starved[-1].data)) == ("waited 1000", {"rank": 0, "step": 1000})
    assert [event.kind for event in history].count("program.too_much") == 1


async def test_what_is_not_finite_reads_back_as_it_was(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines(metric(1, loss="Infinity"), metric(2, loss="-Infinity"), metric(3, loss="NaN")))
    values = [value for *_, value in await points(store, attempt)]
    assert values[:2] == [math.inf, -math.inf]
    assert math.isnan(values[2])


async def test_large_steps_stay_exact(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines(metric(2**53 + 1, loss=-0.0)))
    assert (await points(store, attempt))[0][0] == 2**53 + 1


async def test_a_resumed_run_rewinds_the_joined_series_and_keeps_the_raw_one(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines(*(metric(step, loss=1.0) for step in range(0, 121, 20))))
    await store.end(attempt)
    second = await store.start(await store.job(attempt.job_id))
    resumed = lines(saved("restored", 100), metric(140, loss=2.0), metric(120, loss=2.0))
    offset = await store.post(second, resumed)
    await store.post(second, lines(metric(160, loss=2.0)), offset=offset)
    before = [(step, 1, 0, 1.0) for step in range(0, 101, 20)]
    assert await points(store, second) == [*before, (120, 2, 0, 2.0), (140, 2, 0, 2.0), (160, 2, 0, 2.0)]
    assert [step for step, *_ in await points(store, second, number=1)] == list(range(0, 121, 20))


async def test_steps_beyond_the_resumed_one_are_undone_at_once(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines(metric(10, loss=1.0), metric(20, loss=1.0)))
    await store.end(attempt)
    second = await store.start(await store.job(attempt.job_id))
    assert [step for step, *_ in await points(store, second)] == [10, 20]
    await store.post(second, lines(saved("restored", 10)))
    assert [step for step, *_ in await points(store, second)] == [10]


@pytest.mark.parametrize("resumed", [None, 0, 40, 100])
async def test_the_last_points_are_the_end_of_the_joined_series(
    store: Store, attempt: Attempt, resumed: int | None
) -> None:
    for rank in (1, 0):
        spool = lines(*(metric(step, loss=1.0 + rank, other=5.0) for step in range(0, 121, 20)))
        await store.post(attempt, spool, rank=rank)
    await store.end(attempt)
    second = await store.start(await store.job(attempt.job_id))
    began = [] if resumed is None else [saved("restored", resumed)]
    await store.post(second, lines(*began, metric(60, loss="NaN"), metric(80, loss=3.0)))
    async with store.database.read() as tx:
        raw = await metrics.raw_points(tx, attempt.job_id)
        whole = metrics.joined(raw, await metrics.resumed_steps(tx, attempt.job_id))
        for count in (1, 3, 100):
            last = await metrics.last_points(tx, attempt.job_id, count)
            for name in ("loss", "other"):
                expected = [point for point in whole if point.series == name][-count:]
                assert repr([point for point in last if point.series == name]) == repr(expected)
        (newest,) = await metrics.last_points(tx, attempt.job_id, 1, ("loss",), attempt=2)
        assert (newest.step, newest.value) == (80, 3.0)


async def test_of_two_ranks_the_lower_one_is_in_the_joined_series(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines(metric(1, loss=7.0)), rank=1)
    await store.post(attempt, lines(metric(1, loss=3.0)), rank=0)
    assert await points(store, attempt) == [(1, 1, 0, 3.0)]
    assert await points(store, attempt, number=1) == [(1, 1, 0, 3.0), (1, 1, 1, 7.0)]


async def test_progress_follows_rank_0_and_every_commit(store: Store, attempt: Attempt) -> None:
    await store.post(
        attempt,
        lines(
            {"type": "phase", "phase": "restore"},
            saved("restored", 40),
            {"type": "phase", "phase": "train"},
            {"type": "progress", "step": 40, "total_steps": 100},
            {"type": "progress", "step": 41, "total_steps": 100, "at_ms": NOW + 1},
            {"type": "progress", "step": 60, "at_ms": NOW + 9},
        ),
    )
    await store.post(attempt, lines({"type": "phase", "phase": "init"}, saved("committed", 60)), rank=1)
    assert await progress(store, attempt) == Progress(
        attempt.id,
        phase="train",
        step=60,
        total_steps=100,
        committed_step=60,
        resumed_step=40,
        first_step_at_ms=NOW + 1,
        last_report_at_ms=NOW + 9,
        committed_at_ms=NOW - 5,
    )


async def test_a_fresh_start_is_known_from_one_that_has_not_said(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines({"type": "progress", "step": 0}))
    assert (await progress(store, attempt)).resumed_step is None
    spool = lines({"type": "progress", "step": 0})
    await store.post(attempt, lines({"type": "checkpoint", "event": "fresh", "step": 0}), offset=len(spool))
    assert (await progress(store, attempt)).resumed_step == 0


async def test_accounting_gets_every_attempts_history(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines({"type": "phase", "phase": "train"}, saved("committed", 20)))
    await store.end(attempt)
    await store.start(await store.job(attempt.job_id))
    async with store.database.read() as tx:
        first, second = await histories.histories(tx, attempt.job_id)
    assert (first.phases, first.commits, first.ended_at_ms) == ((("train", NOW),), ((20, NOW - 5),), NOW)
    assert (second.phases, second.commits, second.last_report_at_ms) == ((), (), None)


async def test_logs_keep_every_byte(store: Store, attempt: Attempt) -> None:
    log = bytes(range(256)) + b"\0\r\n\xff"
    assert await store.post(attempt, log[:100], stream="stderr") == 100
    assert await store.post(attempt, log[50:], offset=50, stream="stderr") == len(log)
    name = f"logs/{attempt.job_id}/{attempt.id}/0.stderr"
    assert store.blobs.read(name, 0, 1000) == log
    assert store.blobs.read(name, 250, 5) == log[250:255]


async def test_pieces_of_one_post_may_follow_each_other(store: Store, attempt: Attempt) -> None:
    pieces = [Piece(0, "stdout", 0, b"one"), Piece(0, "stdout", 3, b"two"), Piece(1, "stdout", 5, b"?")]
    offsets = await ingest(store.database, store.blobs, attempt.id, pieces, NOW)
    assert [(one.rank, one.stream, one.offset) for one in offsets] == [(0, "stdout", 6), (1, "stdout", 0)]
