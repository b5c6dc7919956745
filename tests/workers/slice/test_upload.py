"""Streams reach a real HTTP server whole, through outages, and stop where they are not wanted."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from orchestrator.protocol import HostInfo
from tests.workers.cluster.control_plane import ControlPlane
from workers.host.messages import HostStatus, Stream
from workers.slice.upload import REQUEST_BYTES, Uploader


@dataclass
class StoredHost:
    """A host whose rank wrote these bytes to stdout."""

    data: bytes
    lost: str | None = None
    info: HostInfo | None = None
    status: HostStatus | None = None

    def read(self, attempt_id: str, offsets: dict[Stream, int], limit: int) -> dict[Stream, bytes]:
        return {"stdout": self.data[offsets["stdout"] :][:limit]}


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    found = ControlPlane("token")
    yield found
    found.close()


def uploading(plane: ControlPlane, *hosts: StoredHost) -> Uploader:
    uploader = Uploader("a", "token-of-a", hosts, lambda: plane.url)  # type: ignore[arg-type]
    uploader.start()
    uploader.finish({rank: {"stdout": len(host.data)} for rank, host in enumerate(hosts) if host.lost is None})
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
