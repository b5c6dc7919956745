"""Streams reach a real HTTP server whole, through outages, and stop where they are not wanted."""

import base64
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from orchestrator.protocol import HostInfo
from tests.workers.cluster.control_plane import ControlPlane
from workers.host.messages import HostStatus, Stream
from workers.slice.upload import REQUEST_BYTES, SHARE_BYTES, Uploader


@dataclass
class StoredHost:
    """A host whose rank wrote these bytes to stdout, and these to its spool."""

    data: bytes
    spool: bytes = b""
    lost: str | None = None
    info: HostInfo | None = None
    status: HostStatus | None = None
    reads: int = 0

    def read(self, attempt_id: str, offsets: dict[Stream, int], limit: int) -> dict[Stream, bytes]:
        self.reads += 1
        return {stream: self.streams[stream][offset:][:limit] for stream, offset in offsets.items()}

    @property
    def streams(self) -> dict[Stream, bytes]:
        return {"spool": self.spool, "stdout": self.data}


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    found = ControlPlane("token")
    yield found
    found.close()


def uploading(plane: ControlPlane, *hosts: StoredHost) -> Uploader:
    uploader = Uploader("a", "token-of-a", hosts, lambda: plane.url)  # type: ignore[arg-type]
    uploader.start()
    uploader.finish(
        {
            rank: {name: len(data) for name, data in host.streams.items()}
            for rank, host in enumerate(hosts)
            if host.lost is None
        }
    )
    return uploader


def until(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_every_byte_of_every_rank_arrives_in_requests_of_bounded_size(plane: ControlPlane) -> None:
    first, second = bytes(range(256)) * 10_000, b"x" * (REQUEST_BYTES + 7)
    uploader = uploading(plane, StoredHost(first), StoredHost(second))
    until(uploader.finished)
    assert plane.stream("a", 0, "stdout") == first
    assert max(sum(len(base64.b64decode(chunk.data)) for chunk in post) for post in plane.posts) <= REQUEST_BYTES
    assert plane.stream("a", 1, "stdout") == second


def test_bytes_wait_for_a_server_that_is_away(plane: ControlPlane) -> None:
    plane.away = True
    uploader = uploading(plane, StoredHost(b"kept"))
    until(lambda: uploader.quiet_ms() > 300)
    assert not uploader.finished()
    plane.away = False
    until(uploader.finished)
    assert plane.stream("a", 0, "stdout") == b"kept"


def test_a_server_that_knows_more_or_less_says_where_to_go_on(plane: ControlPlane) -> None:
    plane.streams["a", 0, "stdout"].extend(b"kep")
    uploader = uploading(plane, StoredHost(b"kept"))
    until(uploader.finished)
    assert plane.stream("a", 0, "stdout") == b"kept"


def test_a_refusal_ends_the_upload_and_is_known(plane: ControlPlane) -> None:
    plane.refused.add("a")
    uploader = uploading(plane, StoredHost(b"late"))
    until(uploader.finished)
    assert uploader.refused()


def test_a_lost_host_is_not_waited_for(plane: ControlPlane) -> None:
    uploader = uploading(plane, StoredHost(b"here"), StoredHost(b"gone", lost="its node died"))
    until(uploader.finished)
    assert plane.stream("a", 0, "stdout") == b"here"


LINE = b'{"type": "phase", "at_ms": 1, "phase": "init"}\n'


@pytest.mark.parametrize("spool", [LINE + LINE[:-1], LINE[:-1], LINE + b'{"type'], ids=["whole", "only", "torn"])
def test_a_last_line_without_its_end_is_taken_once_the_spool_is_finished(plane: ControlPlane, spool: bytes) -> None:
    uploader = uploading(plane, StoredHost(b"", spool))
    until(uploader.finished)
    assert plane.stream("a", 0, "spool") == spool


def test_only_the_last_bytes_of_a_finished_stream_are_final(plane: ControlPlane) -> None:
    uploader = uploading(plane, StoredHost(b"x" * (SHARE_BYTES + 1)))
    until(uploader.finished)
    assert [chunk.final for post in plane.posts for chunk in post] == [False, True]


def test_a_spool_that_is_still_torn_is_offered_without_haste_and_counts_as_quiet(plane: ControlPlane) -> None:
    host = StoredHost(b"log", b'{"type": "ph', status=HostStatus("a", None, False, {"spool": 12, "stdout": 3}))
    uploader = Uploader("a", "token-of-a", [host], lambda: plane.url)  # type: ignore[list-item]
    uploader.start()
    until(lambda: uploader.quiet_ms() > 1_500)
    assert (plane.stream("a", 0, "stdout"), host.reads <= 4) == (b"log", True)
    host.spool += b'ase", "at_ms": 1, "phase": "init"}\n'
    uploader.finish({0: {"spool": len(host.spool), "stdout": 3}})
    until(uploader.finished)
    assert plane.stream("a", 0, "spool") == host.spool


def test_long_lines_of_many_ranks_pass_and_logs_do_not_wait_for_them(plane: ControlPlane) -> None:
    long = LINE[:-2] + b" " * (SHARE_BYTES - 2 * len(LINE)) + LINE[-2:]
    hosts = [StoredHost(b"log of %d" % rank, long * 3) for rank in range(12)]
    uploader = uploading(plane, *hosts)
    until(uploader.finished)
    for rank, host in enumerate(hosts):
        assert plane.stream("a", rank, "spool") == host.spool
        assert plane.stream("a", rank, "stdout") == host.data
    first_round = [(chunk.rank, chunk.stream) for post in plane.posts for chunk in post][:24]
    assert {rank for rank, stream in first_round if stream == "stdout"} == set(range(12))


def test_logs_of_an_attempt_whose_spool_is_refused_are_still_sent(plane: ControlPlane) -> None:
    plane.superseded.add("a")
    uploader = uploading(plane, StoredHost(b"last words", LINE))
    until(uploader.finished)
    assert (plane.stream("a", 0, "stdout"), plane.stream("a", 0, "spool")) == (b"last words", b"")
    assert uploader.refused()


@pytest.mark.parametrize("answer", [b"<html>", b'{"offsets": [{"rank": 0, "stream": "tea", "offset": 1}]}'])
def test_a_foreign_process_on_the_servers_address_takes_nothing(plane: ControlPlane, answer: bytes) -> None:
    plane.foreign = answer
    uploader = uploading(plane, StoredHost(b"kept"))
    until(lambda: uploader.quiet_ms() > 300)
    assert not uploader.finished()
    plane.foreign = None
    until(uploader.finished)
    assert plane.stream("a", 0, "stdout") == b"kept"


def test_an_address_that_is_none_is_asked_for_again(plane: ControlPlane) -> None:
    addresses = iter(["http://[", "no address\n"])
    host = StoredHost(b"kept")
    uploader = Uploader("a", "token-of-a", [host], lambda: next(addresses, plane.url))  # type: ignore[list-item]
    uploader.start()
    uploader.finish({0: {"stdout": 4}})
    until(uploader.finished)
    assert plane.stream("a", 0, "stdout") == b"kept"


def test_an_upload_that_breaks_is_finished(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    uploader = Uploader("a", "token", [StoredHost(b"x")], lambda: 1 / 0)  # type: ignore
    uploader.start()
    uploader.finish({0: {"stdout": 1}})
    until(uploader.finished)
