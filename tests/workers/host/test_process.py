"""Real shims and processes, no Ray: a rank's whole tree ends with it, and its exit and output are kept as they were."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from workers.host import streams
from workers.host.process import ProcessExit, RankProcess

DEADLINE_S = 30.0
T = TypeVar("T")


def until(look: Callable[[], T | None], what: str) -> T:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if (found := look()) is not None:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {DEADLINE_S} s: {what}")


def launch(folder: Path, *argv: str, **variables: str) -> RankProcess:
    marker = {"PODWRIGHT_ATTEMPT_ID": str(folder), "PODWRIGHT_RANK": "0"}
    environment = {"PATH": os.environ["PATH"], "PODWRIGHT_SPOOL": str(folder / "spool.jsonl"), **marker, **variables}
    return RankProcess.launch(argv, environment, folder, marker)


def python(code: str) -> tuple[str, str, str]:
    return sys.executable, "-c", code


def ended(rank: RankProcess) -> ProcessExit:
    until(lambda: rank.drained() or None, "the rank is gone")
    found = rank.exit()
    assert found is not None
    return found


@pytest.mark.parametrize("code", [0, 1, 77])
def test_an_exit_code_is_reported_as_it_was(tmp_path: Path, code: int) -> None:
    found = ended(launch(tmp_path, *python(f"raise SystemExit({code})")))
    assert (found.exit_code, found.signal, found.ordered) == (code, None, False)


def test_a_segmentation_fault_is_reported_as_its_signal(tmp_path: Path) -> None:
    found = ended(launch(tmp_path, *python("import os; os.kill(os.getpid(), 11)")))
    assert (found.exit_code, found.signal, found.ordered) == (None, signal.SIGSEGV, False)


def test_output_is_kept_byte_for_byte(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4
    ended(
        launch(
            tmp_path,
            *python("import sys; b = bytes(range(256)) * 4; [f.buffer.write(b) for f in (sys.stdout, sys.stderr)]"),
        )
    )
    assert streams.read(tmp_path, "stdout", 0, 10_000) == data
    assert streams.read(tmp_path, "stderr", 256, 256) == data[:256]
    assert "\ufffd" in "".join(streams.stderr_tail(tmp_path))


@pytest.mark.parametrize(
    ("make", "code", "why"),
    [(lambda path: None, 127, "no such file"), (lambda path: path.write_text("x"), 126, "permission denied")],
    ids=["missing", "not executable"],
)
def test_a_program_that_cannot_run_exits_like_in_a_shell_and_says_so(
    tmp_path: Path, make: Callable[[Path], object], code: int, why: str
) -> None:
    (tmp_path / "cwd").mkdir()
    make(tmp_path / "cwd" / "program")
    found = ended(launch(tmp_path, "./program"))
    assert found.exit_code == code
    assert streams.stderr_tail(tmp_path) == (f"podwright: cannot run './program': {why}",)
    claim = streams.spool_evidence(tmp_path)[1]
    assert claim is not None
    assert claim.reason == "invalid_program"


STUBBORN_TREE = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        open("grandchild.partial", "w").write(str(os.getpid()))
        os.rename("grandchild.partial", "grandchild")
    time.sleep(600)
if "EXIT" in os.environ:
    while not os.path.exists("grandchild"):
        time.sleep(0.01)
    os._exit(3)
time.sleep(600)
"""


def grandchild_of(folder: Path) -> int:
    path = folder / "cwd" / "grandchild"
    return until(lambda: int(path.read_text()) if path.exists() else None, "the grandchild runs")


def test_a_setsid_grandchild_ends_with_a_rank_that_exits(tmp_path: Path) -> None:
    found = ended(launch(tmp_path, *python(STUBBORN_TREE), EXIT="1"))
    assert found.exit_code == 3
    assert not psutil.pid_exists(grandchild_of(tmp_path))


def test_end_kills_a_tree_that_ignores_sigterm(tmp_path: Path) -> None:
    rank = launch(tmp_path, *python(STUBBORN_TREE))
    grandchild = grandchild_of(tmp_path)
    rank.terminate()
    assert not rank.drained()
    rank.end()
    found = ended(rank)
    assert (found.signal, found.ordered) == (signal.SIGKILL, True)
    assert not psutil.pid_exists(grandchild)


def test_terminate_lets_the_program_choose_its_exit(tmp_path: Path) -> None:
    code = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(9)); open('ready', 'w'); time.sleep(600)"
    rank = launch(tmp_path, *python(code))
    until(lambda: (tmp_path / "cwd" / "ready").exists() or None, "the handler is set")
    rank.terminate()
    found = ended(rank)
    assert (found.exit_code, found.ordered) == (9, True)


def test_terminate_is_one_signal_since_a_second_would_kill_a_program_that_is_leaving(tmp_path: Path) -> None:
    code = (
        "import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {15})\n"
        "open('ready', 'w')\n"
        "signal.sigwait({15})\n"
        "sys.exit(9 if signal.sigtimedwait({15}, 0.5) is None else 8)"
    )
    rank = launch(tmp_path, *python(code))
    until(lambda: (tmp_path / "cwd" / "ready").exists() or None, "the signal is awaited")
    rank.terminate()
    assert ended(rank).exit_code == 9


def test_what_outlives_a_killed_shim_is_found_by_its_marker(tmp_path: Path) -> None:
    rank = launch(tmp_path, *python(STUBBORN_TREE))
    grandchild = grandchild_of(tmp_path)
    psutil.Process(rank.launched.pid).parent().kill()
    assert ended(rank).signal == signal.SIGKILL
    assert not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == psutil.STATUS_ZOMBIE


def test_the_tree_ends_when_the_agent_dies(tmp_path: Path) -> None:
    agent = subprocess.Popen(
        [
            *python(
                "import sys, time; from pathlib import Path; from workers.host.process import RankProcess\n"
                "folder = Path(sys.argv[1])\n"
                "argv = [sys.executable, '-c', sys.argv[2]]\n"
                "RankProcess.launch(argv, {'PODWRIGHT_SPOOL': '/dev/null'}, folder, {'x': 'y'})\n"
                "time.sleep(600)"
            ),
            str(tmp_path),
            STUBBORN_TREE,
        ]
    )
    grandchild = grandchild_of(tmp_path)
    agent.kill()
    agent.wait()
    until(lambda: not psutil.pid_exists(grandchild) or None, "the grandchild is gone")


def test_secrets_reach_neither_command_lines_nor_files(tmp_path: Path) -> None:
    rank = launch(tmp_path, *python("import time; time.sleep(600)"), HF_TOKEN="s3cret-value")
    try:
        process = psutil.Process(rank.launched.pid)
        until(lambda: process.environ().get("HF_TOKEN") == "s3cret-value" or None, "the program has its variables")
        assert "s3cret-value" not in str(process.cmdline() + process.parent().cmdline())
        assert all("s3cret-value" not in path.read_text() for path in tmp_path.iterdir() if path.is_file())
        assert stat.S_IMODE((tmp_path / "stdout.log").stat().st_mode) == 0o600
    finally:
        rank.end()
        ended(rank)


def test_a_rank_is_the_first_to_go_when_memory_runs_out(tmp_path: Path) -> None:
    ended(launch(tmp_path, "cat", "/proc/self/oom_score_adj"))
    assert int(streams.read(tmp_path, "stdout", 0, 100)) >= 500


def test_a_program_that_removes_its_own_folder_is_reported_as_it_ended(tmp_path: Path) -> None:
    found = ended(launch(tmp_path, "sh", "-c", 'echo here; rm -rf "$PWD"; exit 3'))
    assert (found.exit_code, found.signal) == (3, None)
    assert (tmp_path / "stdout.log").read_bytes() == b"here\n"
