"""What a host sees of its rank, on real processes and files: its pulse, its stacks, shortages, notices."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from workers.host import shortage
from workers.host.inspection import Inspection, is_stopped, stacks
from workers.host.metadata import NoticeWatch
from workers.host.ports import free_port
from workers.host.pulse import PulseTaker, has_connection

DEADLINE_S = 60.0


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


@pytest.fixture
def python() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Runs a program that says `ready` on stdout, and ends it."""
    started: list[subprocess.Popen[str]] = []

    def run(code: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


class Steady:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.ms = 0

    def __call__(self) -> int:
        return self.ms


def test_a_pulse_follows_the_spool_by_the_hosts_own_steady_clock(tmp_path: Path) -> None:
    clock, spool = Steady(), tmp_path / "spool.jsonl"
    taker = PulseTaker(tmp_path, "127.0.0.1:1", 0, reports=True, ticks_ms=clock)

    def say(*records: object, torn: str = "") -> None:
        with spool.open("a") as file:
            file.write("".join(json.dumps(record) + "\n" for record in records) + torn)

    say({"type": "phase", "phase": "init", "at_ms": 10**15})
    assert (taker.look().joined, taker.look().phase) == (False, "init")
    say({"type": "phase", "phase": "join"}, {"type": "phase", "phase": "train"}, {"type": "progress", "step": 0})
    taker.look()
    for step, at in enumerate((60_000, 61_000, 64_000), start=1):  # the first holds a compilation
        clock.ms = at
        say({"type": "progress", "step": step, "total_steps": 9}, "no object", torn='{"type": "prog')
        say(torn='ress"}\n')
        pulse = taker.look()
    assert (pulse.joined, pulse.phase, pulse.step, pulse.total_steps) == (True, "train", 3, 9)
    assert (pulse.gaps, pulse.median_ms, pulse.slowest_ms, pulse.step_ms) == (2, 2_000, 3_000, 0)
    clock.ms += 500
    say({"type": "phase", "phase": "checkpoint"})
    taker.look()
    clock.ms += 700
    assert (taker.look().phase, taker.look().phase_ms) == ("checkpoint", 700)


def test_a_program_of_the_users_has_joined_when_it_is_connected_to_the_coordinator(
    python: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    port = free_port()
    listens = python(
        f"import socket,time; s=socket.create_server(('127.0.0.1',{port})); print('ready',flush=True); time.sleep(600)"
    )
    connects = python(
        f"import socket,time; s=socket.create_connection(('127.0.0.1',{port})); print('ready',flush=True);"
        " time.sleep(600)"
    )
    sleeps = python("import time; print('ready',flush=True); time.sleep(600)")
    assert [has_connection(one.pid, port) for one in (listens, connects, sleeps)] == [True, True, False]
    taker = PulseTaker(tmp_path, f"127.0.0.1:{port}", connects.pid, reports=False)
    assert taker.look().joined


def test_a_hanging_rank_shows_where_it_stands_also_when_it_is_stopped(
    python: Callable[[str], subprocess.Popen[str]],
) -> None:
    hangs = python(
        "import time\ndef waits_for_ever():\n  print('ready',flush=True)\n  time.sleep(600)\nwaits_for_ever()"
    )
    inspection = Inspection(hangs.pid)
    until(lambda: inspection.done)
    assert any("waits_for_ever" in line for line in inspection.stack), inspection.stack
    assert not inspection.stopped
    hangs.send_signal(19)
    until(lambda: is_stopped(hangs.pid))
    stopped = Inspection(hangs.pid)
    until(lambda: stopped.done)
    assert stopped.stopped
    assert any("waits_for_ever" in line for line in stopped.stack)


def test_a_rank_that_is_not_python_is_named(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeps:
        assert stacks(sleeps.pid)[0].startswith(f"process {sleeps.pid}: sleep 600")
        sleeps.kill()
    assert stacks(sleeps.pid) == ()


def test_a_killed_rank_is_out_of_memory_only_with_evidence(
    python: Callable[[str], subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    holds = python("x=bytearray(50_000_000); print('ready',flush=True); import time; time.sleep(600)")
    watch = shortage.MemoryWatch(holds.pid)
    watch.look()
    assert watch.evidence() is None
    before = shortage.oom_kills()
    monkeypatch.setattr(shortage, "oom_kills", lambda: before + 1)
    found = watch.evidence()
    assert found is not None
    assert found.startswith("the kernel's OOM killer ended 1 of this host's processes meanwhile; the rank's")


def test_a_full_disk_is_told_with_what_is_left(tmp_path: Path) -> None:
    assert shortage.full_disk(tmp_path, scarce_bytes=0) is None
    assert "its disk was full" in (shortage.full_disk(tmp_path, scarce_bytes=2**62) or "")
    assert shortage.full_disk(tmp_path / "no such folder") is None


class Metadata(BaseHTTPRequestHandler):
    """GCE's metadata server: answers a long poll once the value changes."""

    taken = threading.Event()
    asked: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Metadata-Flavor")))
        if len(self.asked) < 3:
            self.send_error(503)
            return
        first = "last_etag=0" in self.path
        if not first:
            self.taken.wait(DEADLINE_S)
        preempted = "instance/preempted?" in self.path
        body = ("FALSE" if first else "TRUE") if preempted else "NONE"
        self.send_response(200)
        self.send_header("ETag", "1")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None: ...


def test_a_notice_of_gce_is_heard_once_after_errors_and_no_sooner() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    heard: list[str] = []
    NoticeWatch(heard.append, f"127.0.0.1:{server.server_port}", retry_s=0.01).start()
    until(lambda: any("last_etag=1" in path and "preempted" in path for path, _ in Metadata.asked))
    assert heard == []
    Metadata.taken.set()
    until(lambda: heard)
    assert heard == ["GCE says preempted=TRUE"]
    assert {flavor for _, flavor in Metadata.asked} == {"Google"}
    server.shutdown()
    server.server_close()
