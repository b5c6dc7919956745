"""The launcher's rules that need no real siblings: back-off, one launcher per folder, addresses, and the way out."""

import json
import os
import signal
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from orchestrator.cli.local import siblings
from orchestrator.cli.local.interrupt import Interrupt, Interrupted
from orchestrator.cli.local.launcher import AlreadyRunning, Launcher, back_off_s, end_recorded
from orchestrator.cli.local.processes import identify
from orchestrator.cli.local.record import Entry, ProcessRecord
from orchestrator.cli.local.siblings import LocalPlan, Sibling
from orchestrator.domain.topology import SliceShape


def _launcher(folder: Path) -> Launcher:
    return Launcher(LocalPlan(folder, SliceShape.parse("v5e:2x4"), 2, None), Interrupt(), say=lambda _: None)


@pytest.fixture
def own_signals() -> Iterator[None]:
    """The signal handlers of the test runner come back after the test."""
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


def test_the_back_off_doubles_up_to_half_a_minute() -> None:
    assert [back_off_s(failures) for failures in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


def test_a_second_launcher_is_told_of_the_first_until_that_stops(tmp_path: Path) -> None:
    first = _launcher(tmp_path)
    with pytest.raises(AlreadyRunning) as refused:
        _launcher(tmp_path)
    assert refused.value.pid == os.getpid()
    first.stop()
    _launcher(tmp_path).stop()


def test_the_state_directory_is_the_owners_alone(tmp_path: Path) -> None:
    former = os.umask(0o022)
    try:
        _launcher(tmp_path / "state").stop()
    finally:
        os.umask(former)
    for folder in (tmp_path / "state", tmp_path / "state" / "logs"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_workers_are_started_anew_when_the_server_came_back_at_another_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(siblings, "workers_command", lambda plan, url: ("sh", "-c", "sleep 60", url))
    launcher = _launcher(tmp_path)
    try:
        with _ready_server() as first, _ready_server() as second:
            for name in (Sibling.SERVER, Sibling.CLUSTER):
                process = identify(subprocess.Popen(["sleep", "60"]).pid)
                assert process is not None
                said = {"pid": process.pid, "url": first, "hosts": []}
                (tmp_path / f"{name}.json").write_text(json.dumps(said))
                launcher._record.put(name, Entry(process, "", ("sleep", "60")))
            launcher.mend()
            assert _workers(tmp_path).command[-1] == first
            before = _workers(tmp_path)
            launcher.mend()
            assert _workers(tmp_path) == before
            server = json.loads((tmp_path / "server.json").read_text())
            (tmp_path / "server.json").write_text(json.dumps(server | {"url": second}))
            launcher.mend()
            assert _workers(tmp_path).command[-1] == second
            assert not before.process.alive
    finally:
        launcher.stop()


def _workers(folder: Path) -> Entry:
    entry = ProcessRecord.load(folder / "processes.json").alive(Sibling.WORKERS)
    assert entry is not None
    return entry


@contextmanager
def _ready_server() -> Iterator[str]:
    """Something that answers every question with 200."""

    class Ready(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Ready)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_there_is_nothing_to_end_in_a_folder_where_nothing_was_started(tmp_path: Path) -> None:
    assert end_recorded(tmp_path) == ()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_pause_at_once_and_is_remembered(own_signals: None, number: signal.Signals) -> None:
    interrupt = Interrupt()
    interrupt.install()
    interrupt.check()
    os.kill(os.getpid(), number)
    with pytest.raises(Interrupted):
        interrupt.pause(60)
    with pytest.raises(Interrupted):
        interrupt.check()
