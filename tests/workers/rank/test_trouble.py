"""Storage in trouble under a whole attempt: Orbax, its clients, and our own commits."""

from __future__ import annotations

import socket
import subprocess
import sys
import time

import pytest

from tests.fakes.fault_proxy import Rule
from tests.workers.rank.forks import REPOSITORY
from workers.rank import latest, manifest
from workers.storage import open_storage

pytestmark = pytest.mark.timeout(300)

OVERDUE = """
import sys, threading, time
from pathlib import Path
from workers.rank.committer import STUCK_S, Committer, Save
from workers.rank.progress import Reporter, Spool
from workers.storage import open_storage
reporter = Reporter(Spool(Path(sys.argv[1]) / "spool"), 0)
never = threading.Event()
committer = Committer(open_storage(sys.argv[1]), 1, "a", reporter, lambda _: never.wait(), deadline_s=0.5 - STUCK_S)
committer.take(Save(step=5, step_at_ms=0, started=time.monotonic(), blocked_ms=0))
committer.close()
"""


@pytest.fixture
def bucket_chain(fork_servers, bucket_server, tmp_path):
    """(the next attempts, the address of their storage, the server)"""
    import uuid

    return (
        fork_servers.of("bucket", tmp_path, bucket_server.variables),
        bucket_server.address(uuid.uuid4().hex),
        bucket_server,
    )


def told(forks):
    return [(record["event"], record["step"]) for record in forks.records() if record["event"] != "trouble"]


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Rule("^/upload/", "POST", skip=2, count=4, status=503), id="503"),
        pytest.param(Rule("^/upload/", "POST", skip=2, count=4, status=429), id="429"),
        pytest.param(Rule("^/upload/", "POST", skip=2, count=2, drop=True), id="dropped"),
        pytest.param(Rule("^/upload/", "POST", skip=2, count=30, delay_s=0.3), id="slow"),
        pytest.param(Rule("", "GET", skip=5, count=5, status=503), id="503 on reads"),
    ],
)
def test_training_goes_on_through_passing_trouble(bucket_chain, rule):
    forks, address, server = bucket_chain
    server.proxy.break_(rule)
    forks.start(address, saves=2)
    assert forks.ended() == 0, forks.output()
    assert latest.read(open_storage(address)).path == "1/2"
    server.proxy.break_()
    forks.start(address, saves=0)
    assert forks.ended() == 0, forks.output()


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        pytest.param(Rule("^/upload/.*", "POST", status=403), "(403)", id="403 from the beginning"),
        pytest.param(Rule("^/upload/.*", "POST", skip=1, status=403), "Forbidden", id="403 after the claim"),
    ],
)
def test_lasting_trouble_ends_the_attempt_as_the_storages_fault(bucket_chain, rule, says):
    forks, address, server = bucket_chain
    server.proxy.break_(rule)
    forks.start(address, saves=2)
    assert forks.ended() == 1, forks.output()
    (failure,) = forks.records("failure")
    assert failure["reason"] == "storage_unavailable", failure
    assert says in failure["message"]
    assert told(forks) in ([], [("fresh", 0), ("save_failed", 1), ("save_failed", 2)]), "the last step is not saved"


def test_training_goes_on_after_a_save_that_the_storage_refused(bucket_chain):
    forks, address, server = bucket_chain
    server.proxy.break_(Rule(r"^/upload/.*/1/2/", status=403))
    forks.start(address, saves=4)
    assert forks.ended() == 0, forks.output()
    assert told(forks) == [("fresh", 0), ("committed", 1), ("save_failed", 2), ("committed", 3), ("committed", 4)]
    failed = next(record for record in forks.records() if record["event"] == "save_failed")
    assert "the save of step 2 failed" in failed["message"]
    assert "403" in failed["message"] or "Forbidden" in failed["message"]
    assert failed["save_ms"] >= 0 <= failed["blocked_ms"]
    assert [commit.step for commit in manifest.commits(open_storage(address), 9)] == [4, 3, 1]


def test_training_goes_on_when_our_own_commit_is_refused(bucket_chain):
    forks, address, server = bucket_chain
    # Of the writes of objects as a whole, which name their object in the body: LATEST at the claim, then two a save.
    server.proxy.break_(Rule("^/upload/.*uploadType=multipart", "POST", skip=1, count=1, status=403))
    forks.start(address, saves=3)
    assert forks.ended() == 0, forks.output()
    assert sorted(told(forks)) == [("committed", 2), ("committed", 3), ("fresh", 0), ("save_failed", 1)]


@pytest.mark.long
def test_a_gang_goes_on_after_one_of_its_ranks_could_not_write(bucket_chain):
    forks, address, server = bucket_chain
    server.proxy.break_(Rule(r"^/upload/.*/1/2/.*process_1", status=403))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{probe.getsockname()[1]}"
    forks.start(address, saves=3, rank_count=2, coordinator=coordinator, save_deadline_ms=8_000)
    assert forks.ended() == 0, forks.output()
    assert told(forks) == [("fresh", 0), ("committed", 1), ("save_failed", 2), ("committed", 3)]


def test_a_missing_bucket_ends_the_attempt_at_once_and_is_never_a_fresh_start(bucket_chain):
    forks, _, _ = bucket_chain
    forks.start("gs://no-such-bucket/job", saves=1)
    assert forks.ended() == 1
    (failure,) = forks.records("failure")
    assert failure["reason"] == "storage_unavailable"
    assert "there is no bucket no-such-bucket (404)" in failure["message"]
    assert forks.records() == []


def test_a_save_that_hangs_on_after_its_deadline_ends_the_process(tmp_path):
    begin = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", OVERDUE, str(tmp_path)], cwd=REPOSITORY, capture_output=True)
    assert ended.returncode == 1
    spool = (tmp_path / "spool").read_text()
    assert '"reason":"storage_unavailable"' in spool
    assert "the save of step 5 was not committed within " in spool
    assert time.monotonic() - begin < 60
