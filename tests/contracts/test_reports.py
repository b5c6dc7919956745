"""What ranks report has effect exactly once, in whatever pieces and however often it is posted."""

import json
import math
from typing import Any

import pytest

from orchestrator.domain.errors import NotFound, Superseded
from orchestrator.domain.job import Attempt, Progress
from orchestrator.store.ingest import LATE_MS, Piece, ingest
from orchestrator.store.queries import events, histories, metrics, reports
from orchestrator.store.queries import jobs as job_queries
from tests.builders import NOW, an_attempt
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"at_ms": NOW, **record}).encode() + b"\n" for record in records)


def metric(step: int, **values: float | str) -> dict[str, Any]:
    return {"type": "metrics", "step": step, "values": values}


def saved(event: str, step: int, path: str = "a") -> dict[str, Any]:
    rest = {"step_at_ms": NOW - 5, "bytes": 9, "save_ms": 3, "blocked_ms": 1}
    return {"type": "checkpoint", "event": event, "step": step, "path": path, **rest}


async def points(store: Store, attempt: Attempt, number: int | None = None) -> list[tuple[int, int, int, float]]:
    """(step, attempt, rank, value) of the default series, or raw of one attempt."""
    async with store.database.read() as tx:
        raw = await metrics.raw_points(tx, attempt.job_id, ("loss",), number)
        resumed = await metrics.resumed_steps(tx, attempt.job_id)
    shown = raw if number is not None else metrics.joined(raw, resumed)
    return [(point.step, point.attempt, point.rank, point.value) for point in shown]


async def progress(store: Store, attempt: Attempt) -> Progress:
    async with store.database.read() as tx:
        return (await job_queries.progress_of(tx, [attempt.id]))[attempt.id]


async def kinds(store: Store, attempt: Attempt) -> list[str]:
    async with store.database.read() as tx:
        return [one.event.kind for one in await events.since(tx, 0, attempt.job_id, 100)]


@pytest.fixture
async def attempt(store: Store) -> Attempt:
    return await store.start(await store.submit())


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


async def test_lines_that_cannot_be_read_are_skipped_and_told_once(store: Store, attempt: Attempt) -> None:
    spool = b"garbage\n" + lines(metric(-1, loss=1.0), metric(2, loss=2.0)) + b"\xff\xfe\n"
    offset = await store.post(attempt, spool)
    await store.post(attempt, b"more garbage\n", offset=offset)
    assert await points(store, attempt) == [(2, 1, 0, 2.0)]
    assert (await kinds(store, attempt)).count("spool.invalid") == 1


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


async def test_a_damaged_checkpoint_of_an_earlier_attempt_is_set_aside(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines(saved("committed", 20, "one/20"), saved("committed", 40, "one/40")))
    await store.end(attempt)
    second = await store.start(await store.job(attempt.job_id))
    await store.post(second, lines(saved("quarantined", 40, "one/40"), saved("restored", 20, "one/20")))
    async with store.database.read() as tx:
        found = await reports.checkpoints_of(tx, attempt.job_id)
    assert [(one.step, one.state) for one in found] == [(20, "committed"), (40, "quarantined")]


async def test_accounting_gets_every_attempts_history(store: Store, attempt: Attempt) -> None:
    await store.post(attempt, lines({"type": "phase", "phase": "train"}, saved("committed", 20)))
    await store.end(attempt)
    await store.start(await store.job(attempt.job_id))
    async with store.database.read() as tx:
        first, second = await histories.histories(tx, attempt.job_id)
    assert (first.phases, first.commits, first.ended_at_ms) == ((("train", NOW),), ((20, NOW - 5),), NOW)
    assert (second.phases, second.commits, second.last_report_at_ms) == ((), (), None)


# ---------------------------------------------------------------------------------------------------------------- logs


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


# ---------------------------------------------------------------------------------------------------------------- fence


async def test_reports_of_an_attempt_that_was_replaced_are_superseded(store: Store, attempt: Attempt) -> None:
    await store.end(attempt)
    await store.start(await store.job(attempt.job_id))
    with pytest.raises(Superseded):
        await store.post(attempt, lines(metric(1, loss=1.0)))
    assert await store.post(attempt, b"last words", stream="stdout") == 10


@pytest.mark.parametrize("stream", ["spool", "stdout"])
async def test_late_reports_of_the_newest_attempt_are_taken_for_a_while(
    store: Store, attempt: Attempt, stream: str
) -> None:
    await store.end(attempt, at_ms=NOW)
    spool = lines(metric(1, loss=1.0))
    assert await store.post(attempt, spool, stream=stream, now_ms=NOW + LATE_MS - 1) == len(spool)
    with pytest.raises(Superseded):
        await store.post(attempt, b"more\n", offset=len(spool), stream=stream, now_ms=NOW + LATE_MS)


async def test_reports_of_nobody_are_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.post(an_attempt("nobody"), b"x")
