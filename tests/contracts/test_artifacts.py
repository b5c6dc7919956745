"""Artifacts arrive in pieces, more than once and out of turn, and are kept once, whole; on both databases."""

import asyncio

import pytest

from orchestrator.domain import artifacts as limits
from orchestrator.domain.errors import Superseded
from orchestrator.domain.job import Attempt
from orchestrator.store.artifacts import Part, Skipped, Version, take_in
from orchestrator.store.commands.retention import forget_artifacts
from orchestrator.store.ingest import LATE_MS
from orchestrator.store.queries.artifacts import Artifact, ArtifactFilter, artifacts_of
from tests.builders import NOW
from tests.contracts.stores import Store

pytestmark = pytest.mark.anyio


async def post(store: Store, attempt: Attempt, of: Version, *parts: tuple[int, bytes], now_ms: int = NOW) -> int:
    posted = [Part(of, offset, data) for offset, data in parts]
    [found] = await take_in(store.database, store.blobs, attempt.id, posted, (), now_ms)
    return found.offset


async def skip(store: Store, attempt: Attempt, path: str, why: str) -> None:
    await take_in(store.database, store.blobs, attempt.id, (), [Skipped(0, path, why)], NOW)


async def listed(store: Store, of: Attempt, **wanted: object) -> tuple[Artifact, ...]:
    async with store.database.read() as tx:
        return await artifacts_of(tx, of.job_id, ArtifactFilter(**wanted), 200, None)  # type: ignore[arg-type]


async def content(store: Store, attempt: Attempt) -> dict[str, bytes]:
    found = await listed(store, attempt, state="kept")
    return {one.path: store.blobs.read(one.blob, 0, 1000) for one in found}


def version(path: str, size: int, modified_ns: int = 1, rank: int = 0) -> Version:
    return Version(rank, path, size, modified_ns)


async def test_pieces_that_repeat_overlap_or_come_out_of_turn_make_one_file(store: Store, attempt: Attempt) -> None:
    of = version("a/b.txt", 6)
    assert await post(store, attempt, of, (2, b"cd")) == 0
    assert await post(store, attempt, of, (0, b"ab")) == 2
    assert await content(store, attempt) == {}
    assert await post(store, attempt, of, (0, b"ab"), (1, b"bcd")) == 4
    assert await post(store, attempt, of, (4, b"ef")) == 6
    assert await post(store, attempt, of, (0, b"abcdef")) == 6
    assert await content(store, attempt) == {"a/b.txt": b"abcdef"}


async def test_more_than_a_file_has_is_not_taken_and_an_empty_one_is_whole_at_once(
    store: Store, attempt: Attempt
) -> None:
    assert await post(store, attempt, version("a", 2), (0, b"abc")) == 0
    assert await post(store, attempt, version("empty", 0), (0, b"")) == 0
    assert await content(store, attempt) == {"empty": b""}


async def test_a_new_version_takes_the_place_of_the_old_one_when_it_is_whole(store: Store, attempt: Attempt) -> None:
    await post(store, attempt, version("a", 3), (0, b"old"))
    [old] = await listed(store, attempt)
    new = version("a", 4, modified_ns=2)
    await post(store, attempt, new, (0, b"ne"))
    assert await content(store, attempt) == {"a": b"old"}
    await post(store, attempt, new, (2, b"wer"[:2]))
    assert await content(store, attempt) == {"a": b"newe"}
    assert store.blobs.read(old.blob, 0, 9) == b""


async def test_two_posts_of_the_same_file_at_once_keep_it_once(store: Store, attempt: Attempt) -> None:
    of = version("a", 4)
    done = await asyncio.gather(*(post(store, attempt, of, (0, b"same")) for _ in range(8)))
    assert done == [4] * 8
    assert len(await listed(store, attempt)) == 1


async def test_ranks_and_attempts_have_files_of_their_own(store: Store, attempt: Attempt) -> None:
    await post(store, attempt, version("a", 1, rank=0), (0, b"0"))
    await post(store, attempt, version("a", 1, rank=1), (0, b"1"))
    await store.end(attempt)
    second = await store.start(await store.job(attempt.job_id))
    await post(store, second, version("a", 1), (0, b"2"))
    assert [(one.attempt, one.rank) for one in await listed(store, attempt)] == [(1, 0), (1, 1), (2, 0)]
    assert [one.attempt for one in await listed(store, attempt, attempt=2)] == [2]
    assert [one.rank for one in await listed(store, attempt, rank=1)] == [1]


async def test_a_prefix_is_no_pattern(store: Store, attempt: Attempt) -> None:
    for path in ("a_b/x", "a%b/x", "axb/x"):
        await post(store, attempt, version(path, 1), (0, b"x"))
    assert [one.path for one in await listed(store, attempt, prefix="a_")] == ["a_b/x"]
    assert [one.path for one in await listed(store, attempt, prefix="a%")] == ["a%b/x"]


async def test_what_is_too_much_is_said_once_and_not_asked_for_again(
    store: Store, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 3)
    monkeypatch.setattr(limits, "MAX_RANK_FILES", 1)
    assert await post(store, attempt, version("big", 4), (0, b"ab")) == 4
    assert await post(store, attempt, version("big", 4), (2, b"cd")) == 4
    await post(store, attempt, version("first", 1), (0, b"1"))
    assert await post(store, attempt, version("second", 1), (0, b"2")) == 1
    notes = {one.path: (one.state, one.note) for one in await listed(store, attempt)}
    assert notes["first"] == ("kept", "")
    assert notes["big"] == ("skipped", "4 bytes; a file may have 3")
    assert notes["second"] == ("skipped", "a rank may leave 1 files")


async def test_a_skipped_file_has_a_reason_until_it_can_be_kept(store: Store, attempt: Attempt) -> None:
    for _ in range(2):
        await skip(store, attempt, "link", "is a symbolic link")
    assert [(one.state, one.note) for one in await listed(store, attempt)] == [("skipped", "is a symbolic link")]
    await post(store, attempt, version("link", 1), (0, b"x"))
    assert [(one.state, one.note) for one in await listed(store, attempt)] == [("kept", "")]


async def test_files_are_taken_until_an_hour_after_the_end_was_recorded(store: Store, attempt: Attempt) -> None:
    await store.end(attempt)
    await post(store, attempt, version("late", 1), (0, b"x"), now_ms=NOW + LATE_MS - 1)
    with pytest.raises(Superseded):
        await post(store, attempt, version("later", 1), (0, b"x"), now_ms=NOW + LATE_MS)


async def test_files_of_attempts_that_ended_long_ago_are_forgotten(store: Store, attempt: Attempt) -> None:
    await post(store, attempt, version("a", 1), (0, b"x"))
    for ended, gone in ((False, ()), (True, ((attempt.job_id, attempt.id),)), (True, ())):
        if ended and await listed(store, attempt) and not (await store.job(attempt.job_id)).ended_at_ms:
            await store.end(attempt)
        async with store.database.write() as tx:
            assert await forget_artifacts(tx, NOW + 1) == gone
    assert await listed(store, attempt) == ()
