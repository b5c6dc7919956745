"""Errands on checkpoint objects, on both kinds of storage."""

from __future__ import annotations

import threading
import time
import uuid

import pytest

from orchestrator.clock import SystemClock
from orchestrator.protocol import ErrandDone, ErrandOrder
from tests.fakes.fault_proxy import Rule
from workers.cluster.errands import ORPHAN_AGE_MS, Errands, perform
from workers.rank import latest, manifest
from workers.rank.manifest import Commit
from workers.storage import open_storage

NOW = SystemClock().now_ms()


@pytest.fixture
def job(root):
    """A folder with the commits 1/5, 1/6 and 1/7, of which LATEST names the last."""
    latest.claim(root, 1, "a")
    for step in (5, 6, 7):
        root.write(f"1/{step}/state/array", bytes(range(100)))
        root.write(f"1/{step}/commit_success.txt", b"yes")
        manifest.write(root, Commit(1, step))
        latest.advance(root, 1, "a", step, f"1/{step}")
    return root


def done(root, kind, path, target=None, now_ms=NOW):
    result = perform(ErrandOrder("e1", kind, root.address, path, target), now_ms)
    return result.ok, result.message


def test_verify_reads_every_byte(job):
    ok, message = done(job, "verify", "1/6")
    assert ok
    assert message.startswith("intact: 103 bytes")
    job.write("1/6/state/array", bytes(100))
    damaged = perform(ErrandOrder("e1", "verify", job.address, "1/6"), NOW)
    assert damaged == ErrandDone("e1", False, "1/6/state/array has other contents than were committed", "damaged")


def test_a_step_that_verify_finds_damaged_is_set_aside_and_its_data_stays(job):
    job.write("1/7/state/array", bytes(100))
    assert done(job, "verify", "1/7")[0] is False
    assert [commit.step for commit in manifest.commits(job, 1)] == [6, 5]
    assert job.read("1/7/state/array") == bytes(100)
    claimed = latest.claim(job, 2, "b")  # the next attempt falls back, as it would have done by itself
    assert claimed.path == "1/7"
    assert manifest.choose(job, claimed)[0] == Commit(1, 6)
    assert done(job, "orphans", "2/0", now_ms=NOW + 2 * ORPHAN_AGE_MS)[1].startswith("0 orphans deleted")
    assert done(job, "delete", "1/7") == (False, "it is the newest commit, and stays")
    latest.rewind(job, 2, "b", 6, "1/6")
    assert done(job, "delete", "1/7") == (True, "")
    assert not [one for one in job.tree("1") if one.path.startswith("1/7")]


def test_a_verify_that_cannot_read_sets_nothing_aside(bucket_server):
    root = open_storage(bucket_server.address("unreadable"))
    root.write("1/6/state/array", b"1")
    manifest.write(root, Commit(1, 6))
    bucket_server.proxy.break_(Rule("alt=media", "GET", status=403))
    found = perform(ErrandOrder("e1", "verify", root.address, "1/6"), NOW)
    assert (found.ok, found.finding) == (False, None)
    bucket_server.proxy.break_()
    assert [commit.step for commit in manifest.commits(root, 1)] == [6]


def test_delete_unmarks_first_may_be_repeated_and_never_takes_what_latest_names(job):
    assert done(job, "delete", "1/5") == (True, "")
    assert done(job, "delete", "1/5") == (True, ""), "one that was deleted by hand is no error"
    assert job.tree("1/5") == ()
    assert done(job, "delete", "1/7") == (False, "it is the newest commit, and stays")
    assert [commit.step for commit in manifest.commits(job, 1)] == [7, 6]


def test_an_export_stands_by_itself(job, tmp_path):
    ok, message = done(job, "export", "1/6", str(tmp_path / "out"))
    assert (ok, message) == (True, f"103 bytes copied to {tmp_path}/out/1/6")
    copy = open_storage(str(tmp_path / "out"))
    assert manifest.verify(copy, Commit(1, 6)) is None
    job.write("1/6/state/array", b"x")
    assert done(job, "export", "1/6", str(tmp_path / "other"))[0] is False


def test_an_export_goes_block_by_block(job, tmp_path, bucket_server):
    large = bytes(range(256)) * (9 << 12)  # 9 MiB: two blocks
    job.write("1/8/state/array", large)
    manifest.write(job, Commit(1, 8))
    for target in (str(tmp_path / "out"), bucket_server.address(f"out-{uuid.uuid4().hex}")):
        assert done(job, "export", "1/8", target)[0]
        assert open_storage(target).read("1/8/state/array") == large
        assert [len(block) for block in open_storage(target).blocks("1/8/state/array")] == [8 << 20, 1 << 20]


def test_orphans_go_by_age_and_foreign_objects_stay(job):
    job.write("1/8/state/array", b"left over")
    job.write("notes.txt", b"mine")
    assert done(job, "orphans", "1/0", now_ms=NOW + 2 * ORPHAN_AGE_MS) == (
        True, "0 orphans deleted, 0 bytes; not ours and left alone: notes.txt",
    )  # fmt: skip
    ok, message = done(job, "orphans", "2/0")
    assert (ok, "1 are too young" in message) == (True, True)
    ok, message = done(job, "orphans", "2/0", now_ms=NOW + 2 * ORPHAN_AGE_MS)
    assert message == "1 orphans deleted, 9 bytes; not ours and left alone: notes.txt"
    assert job.read("notes.txt") == b"mine"
    assert [commit.step for commit in manifest.commits(job, 1)] == [7, 6, 5]


def test_trouble_is_an_answer(bucket_server):
    bucket_server.proxy.break_(Rule(status=403))
    ok, message = done(open_storage(bucket_server.address("job")), "verify", "1/6")
    assert (ok, "(403)" in message) == (False, True)


def test_results_are_kept_until_told_and_forgotten_when_no_longer_ordered(job):
    wake = threading.Event()
    errands = Errands(wake, now_ms=lambda: NOW)
    orders = tuple(ErrandOrder(f"e{step}", "delete", job.address, f"1/{step}") for step in (5, 6))
    errands.take(orders)
    errands.take(orders)  # the same orders come again with every change
    deadline = time.monotonic() + 30
    while len(errands.done()) < 2 and time.monotonic() < deadline:
        wake.wait(0.1)
    assert errands.done() == (ErrandDone("e5", True, ""), ErrandDone("e6", True, ""))
    errands.told(errands.done()[:1])
    assert [one.id for one in errands.done()] == ["e6"]
    errands.take(())
    assert errands.done() == ()
