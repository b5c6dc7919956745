"""What killed saves leave behind, and deletions that are slow: neither is ever offered, nor holds up a save."""

from __future__ import annotations

import signal
import threading
import uuid

import pytest

from orchestrator.clock import SystemClock
from orchestrator.protocol import ErrandOrder
from tests.emulated import until
from tests.fakes.fault_proxy import Rule
from workers.cluster.errands import ORPHAN_AGE_MS, Errands, perform
from workers.rank import latest, manifest
from workers.storage import open_storage

pytestmark = pytest.mark.timeout(300)

NOW = SystemClock().now_ms()


def collect(address, now_ms):
    return perform(ErrandOrder("e", "orphans", address, "4/0"), now_ms).message


def test_what_a_killed_save_left_is_never_offered_its_step_is_saved_again_and_it_goes_a_day_later(chain):
    forks, address = chain
    forks.start(address, saves=2)
    assert forks.ended() == 0, forks.output()
    forks.start(address, saves=1, failpoint="data.final")  # all shards of step 3 are there
    assert forks.ended() == -signal.SIGKILL, forks.output()
    root = open_storage(address)
    position = next(one.path for one in root.tree("2/3") if "/position/" in one.path)
    root.delete(position)
    root.write("1/100/state/planted", b"no marker")
    root.write("notes.txt", b"mine")

    forks.start(address, saves=1)
    assert forks.ended() == 0, forks.output()
    told = [(record["event"], record["path"]) for record in forks.records()]
    assert told == [("restored", "1/2"), ("committed", "3/3")]
    assert latest.read(root).path == "3/3"
    assert [commit.path for commit in manifest.commits(root, 9)] == ["3/3", "1/2", "1/1"]

    assert collect(address, NOW) == "0 orphans deleted, 0 bytes; 2 are too young; not ours and left alone: notes.txt"
    assert root.tree("2/3")
    assert collect(address, NOW + 2 * ORPHAN_AGE_MS).startswith("2 orphans deleted, ")
    assert (root.tree("2/3"), root.tree("1/100"), root.read("notes.txt")) == ((), (), b"mine")
    assert [commit.path for commit in manifest.commits(root, 9)] == ["3/3", "1/2", "1/1"]


def test_a_deletion_that_does_not_come_to_an_end_holds_up_no_save(fork_servers, bucket_server, tmp_path):
    forks = fork_servers.of("bucket", tmp_path, bucket_server.variables)
    address = bucket_server.address(uuid.uuid4().hex)
    forks.start(address, saves=3)
    assert forks.ended() == 0, forks.output()
    bucket_server.proxy.break_(Rule("/1/1[./]", "DELETE", status=503))
    errands = Errands(threading.Event(), now_ms=lambda: NOW)
    errands.take((ErrandOrder("e", "delete", address, "1/1"),))
    until(lambda: any(method == "DELETE" for method, *_ in bucket_server.proxy.log) or None, "it is being deleted")
    forks.start(address, saves=2)
    assert forks.ended() == 0, forks.output()
    assert errands.done() == ()
    assert latest.read(open_storage(address)).path == "2/5"
    bucket_server.proxy.break_()
    (result,) = until(lambda: errands.done() or None, "it is deleted")
    assert result.ok, result.message
    assert [commit.path for commit in manifest.commits(open_storage(address), 9)] == ["2/5", "2/4", "1/3", "1/2"]
