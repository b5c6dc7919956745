"""Output folders reach a real HTTP server whole: through outages, changes, slow takers, and hosts that are lost."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ray.exceptions import GetTimeoutError

from tests.workers.cluster.control_plane import ControlPlane
from workers.host import output
from workers.host.output import OutputFile
from workers.slice.outputs import Outputs
from workers.slice.upload import REQUEST_BYTES


class FolderHost:
    """A host whose output folder is a real one."""

    def __init__(self, folder: Path, lost: str | None = None) -> None:
        self.folder = folder
        self.lost = lost
        self.looks = 0
        self.failures: list[Exception] = []

    def output(self, attempt_id: str) -> tuple[OutputFile, ...]:
        self.looks += 1
        if self.failures:
            raise self.failures.pop()
        return output.listing(self.folder)

    def read_output(self, attempt_id: str, path: str, offset: int, limit: int) -> bytes:
        return output.read(self.folder, path, offset, limit)


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    found = ControlPlane("token")
    yield found
    found.close()


@pytest.fixture
def hosts(tmp_path: Path) -> list[FolderHost]:
    made = [FolderHost(tmp_path / str(rank)) for rank in range(2)]
    for host in made:
        host.folder.mkdir()
    return made


def sending(plane: ControlPlane, hosts: list[FolderHost], *, ended: bool = True) -> Outputs:
    outputs = Outputs("a", "token-of-a", hosts, lambda: plane.url, look_s=0.05)
    outputs.start()
    if ended:
        outputs.finish()
    return outputs


def until(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_every_file_of_every_rank_arrives_and_links_are_told(plane: ControlPlane, hosts: list[FolderHost]) -> None:
    big = bytes(range(256)) * (REQUEST_BYTES // 256 + 1)
    (hosts[0].folder / "big.bin").write_bytes(big)
    (hosts[0].folder / "empty").touch()
    (hosts[0].folder / "link").symlink_to("/etc/passwd")
    (hosts[1].folder / "sub").mkdir()
    (hosts[1].folder / "sub" / "b").write_text("two")
    until(sending(plane, hosts).finished)
    assert plane.files("a") == {(0, "big.bin"): big, (0, "empty"): b"", (1, "sub/b"): b"two"}
    assert plane.skipped == [(0, "link", "is a symbolic link")]


def test_files_wait_for_a_server_that_is_away(plane: ControlPlane, hosts: list[FolderHost]) -> None:
    (hosts[0].folder / "a").write_text("kept")
    plane.away = True
    outputs = sending(plane, hosts)
    until(lambda: hosts[0].looks > 2)
    assert not outputs.finished()
    plane.away = False
    until(outputs.finished)
    assert plane.files("a") == {(0, "a"): b"kept"}


def test_a_server_that_takes_less_says_where_to_go_on(plane: ControlPlane, hosts: list[FolderHost]) -> None:
    plane.appetite = 3
    (hosts[0].folder / "a").write_text("abcdefgh")
    until(sending(plane, hosts).finished)
    assert plane.files("a") == {(0, "a"): b"abcdefgh"}


def test_while_it_runs_files_that_rest_are_sent_and_later_versions_too(
    plane: ControlPlane, hosts: list[FolderHost]
) -> None:
    path = hosts[0].folder / "plot.png"
    path.write_text("first")
    outputs = sending(plane, hosts, ended=False)
    until(lambda: plane.files("a") == {(0, "plot.png"): b"first"})
    path.write_text("second")
    until(lambda: plane.files("a") == {(0, "plot.png"): b"second"})
    path.write_text("last words")
    outputs.finish()
    until(outputs.finished)
    assert plane.files("a") == {(0, "plot.png"): b"last words"}


def test_a_host_that_is_lost_or_silent_keeps_back_its_own_files_only(
    plane: ControlPlane, hosts: list[FolderHost]
) -> None:
    for host in hosts:
        (host.folder / "a").write_text("x")
    hosts[0].failures = [GetTimeoutError("late")]
    outputs = sending(plane, [*hosts, FolderHost(hosts[0].folder, lost="its node died")])
    until(outputs.finished)
    assert plane.files("a") == {(0, "a"): b"x", (1, "a"): b"x"}


def test_a_refusal_ends_it(plane: ControlPlane, hosts: list[FolderHost]) -> None:
    plane.refused.add("a")
    (hosts[0].folder / "a").write_text("late")
    until(sending(plane, hosts).finished)
    assert plane.files("a") == {}
