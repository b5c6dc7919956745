"""Saves of real gangs (jax.distributed, two devices per process) restored by gangs of other sizes, bit for bit.

Every rank of a restoring gang compares each of its shards; what they find is in `forks.py`.
"""

from __future__ import annotations

import socket

import pytest

from tests.workers.rank.forks import VALUES
from workers.rank import latest
from workers.storage import open_storage

pytestmark = [pytest.mark.timeout(600), pytest.mark.long]

STATE_BYTES = 2 * VALUES * 8


def run(chain, rank_count, saves, **more):
    forks, address = chain
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{probe.getsockname()[1]}"
    forks.start(address, saves=saves, rank_count=rank_count, coordinator=coordinator, **more)
    assert forks.ended() == 0, forks.output()
    return [(record["event"], record.get("path")) for record in forks.records()]


def test_what_2_and_4_processes_saved_1_2_and_4_restore_bit_for_bit(chain, request):
    _, address = chain
    assert run(chain, 2, saves=1) == [("fresh", None), ("committed", "1/1")]
    assert run(chain, 1, saves=0) == [("restored", "1/1")]
    assert run(chain, 4, saves=1) == [("restored", "1/1"), ("committed", "3/2")]
    assert run(chain, 1, saves=0) == [("restored", "3/2")]
    assert run(chain, 2, saves=0) == [("restored", "3/2")]
    if address.startswith("gs://"):
        request.getfixturevalue("bucket_server").proxy.break_()
    assert run(chain, 4, saves=1) == [("restored", "3/2"), ("committed", "6/3")]
    assert latest.read(open_storage(address)).path == "6/3"
    if address.startswith("gs://"):
        read = request.getfixturevalue("bucket_server").proxy.answered_bytes
        print(f"\n4 processes read {read:,} bytes of a state of {STATE_BYTES:,}")
        assert read < 2 * STATE_BYTES, "each reads only the shards that it needs"


def test_a_continued_job_begins_at_another_jobs_step_until_it_has_its_own(chain):
    forks, address = chain
    assert run(chain, 1, saves=2)[-1] == ("committed", "1/2")
    other = f"{address}-b"
    origin = f"{address}/1/1"
    for _ in range(2):  # also its second attempt, if the first committed nothing
        forks.start(other, saves=0, origin=origin)
        assert forks.ended() == 0, forks.output()
        assert [(one["event"], one["path"]) for one in forks.records()] == [("restored", "1/1")]
    (record,) = forks.records()
    assert record["source_job_id"] == address.rpartition("/")[2]
    forks.start(other, saves=1, origin=origin)
    assert forks.ended() == 0, forks.output()
    assert latest.read(open_storage(other)).path == "4/2"
    forks.start(other, saves=0, origin=origin)
    assert forks.ended() == 0, forks.output()
    assert [one["path"] for one in forks.records()] == ["4/2"]
    open_storage(address).delete_tree("1/1")
    forks.start(f"{address}-c", saves=1, origin=origin)
    assert forks.ended() == 1
    assert forks.records("failure")[0]["reason"] == "nothing_restorable"
