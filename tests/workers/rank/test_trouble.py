"""Storage in trouble under a whole attempt: Orbax, its clients, and our own commits."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.fakes.fault_proxy import Rule
from tests.workers.rank.forks import REPOSITORY
from workers.rank import latest
from workers.storage import open_storage

pytestmark = pytest.mark.timeout(300)

OVERDUE = """
import sys, threading, time
from pathlib import Path
from workers.rank.committer import Committer, Save
from workers.rank.progress import Reporter, Spool
from workers.storage import open_storage
reporter = Reporter(Spool(Path(sys.argv[1]) / "spool"), 0)
never = threading.Event()
committer = Committer(open_storage(sys.argv[1]), 1, "a", reporter, never.wait, deadline_s=0.5)
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
    assert [record["event"] for record in forks.records()] in ([], ["fresh"])


def test_a_missing_bucket_ends_the_attempt_at_once_and_is_never_a_fresh_start(bucket_chain):
    forks, _, _ = bucket_chain
    forks.start("gs://no-such-bucket/job", saves=1)
    assert forks.ended() == 1
    (failure,) = forks.records("failure")
    assert failure["reason"] == "storage_unavailable"
    assert "there is no bucket no-such-bucket (404)" in failure["message"]
    assert forks.records() == []


def test_a_save_that_hangs_is_ended_at_its_deadline(tmp_path):
    begin = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", OVERDUE, str(tmp_path)], cwd=REPOSITORY, capture_output=True)
    assert ended.returncode == 1
    spool = (tmp_path / "spool").read_text()
    assert '"reason":"storage_unavailable"' in spool
    assert "the save of step 5 was not committed within 0.5 s" in spool
    assert time.monotonic() - begin < 60
