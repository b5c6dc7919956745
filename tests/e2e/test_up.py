"""The front door: `podwright up` as a person uses it, with its siblings adopted, replaced and ended."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from orchestrator.cli.local.processes import marked
from tests.emulated import until

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

SIBLINGS = ("server", "cluster", "workers")
SHAPE = "v5e:2x2"
"""One host."""


class Up:
    """One state directory, and the launchers that a test starts for it."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self.marks: set[str] = set()

    def start(self, name: str) -> psutil.Popen:
        """Run `podwright up` until it says that it is ready."""
        log = self.state_dir.with_suffix(f".{name}")
        with log.open("wb") as output:
            launcher = psutil.Popen([*self._podwright, "up", "--count", "1", "--slices", SHAPE], **_to(output))

        def ready() -> bool | None:
            assert launcher.poll() is None, log.read_text()
            return "Ctrl-C ends everything" in log.read_text() or None

        until(ready, "podwright up is ready", 240)
        return launcher

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        words = [*self._podwright, "run", "--slices", SHAPE, "--", *command]
        return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)

    def down(self) -> None:
        subprocess.run([*self._podwright, "down"], timeout=120, check=True)

    @property
    def _podwright(self) -> list[str]:
        return [sys.executable, "-m", "orchestrator.cli.main", "--state", str(self.state_dir)]

    def pids(self) -> dict[str, int]:
        """Of the siblings that are on record, whose marks are remembered."""
        record = json.loads((self.state_dir / "processes.json").read_text())
        self.marks |= {record[name]["mark"] for name in SIBLINGS if name in record}
        return {name: record[name]["process"]["pid"] for name in SIBLINGS if name in record}

    def replaced(self, name: str, former: int) -> bool | None:
        pid = self.pids().get(name)
        return (pid not in (None, former) and psutil.pid_exists(pid)) or None

    def slices_up(self) -> bool | None:
        """Whether the server answers and may offer the slice."""
        try:
            url = json.loads((self.state_dir / "server.json").read_text())["url"]
            bearer = f"Bearer {(self.state_dir / 'admin.token').read_text().strip()}"
            answer = httpx.get(f"{url}/api/v1/slices", headers={"Authorization": bearer})
        except httpx.HTTPError:
            return None
        return [found["state"] for found in answer.json()["items"]] == ["up"] or None


def _to(output: Any) -> dict[str, Any]:
    return {"stdout": output, "stderr": output, "stdin": subprocess.DEVNULL, "start_new_session": True}


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    up = Up(tmp_path / "state")
    try:
        yield up
    finally:
        up.down()


def test_up_runs_jobs_survives_its_own_death_replaces_its_siblings_and_leaves_nothing(up: Up) -> None:
    launcher = up.start("first")
    ran = up.run("echo", "hello")
    assert ran.returncode == 0, ran.stderr
    assert "hello" in ran.stdout
    before = up.pids()

    os.kill(launcher.pid, signal.SIGKILL)
    launcher.wait(10)
    launcher = up.start("second")
    assert up.pids() == before

    for name in ("server", "workers"):
        os.kill(before[name], signal.SIGKILL)
        until(lambda name=name: up.replaced(name, before[name]), f"another {name} runs", 60)
    until(up.slices_up, "the slice is offered again", 60)
    ran = up.run("echo", "still here")
    assert ran.returncode == 0, ran.stderr
    assert "still here" in ran.stdout
    assert up.pids()["cluster"] == before["cluster"]

    assert all(map(marked, up.marks & _current(up)))
    launcher.send_signal(signal.SIGINT)
    assert launcher.wait(90) == 0
    assert not any(map(marked, up.marks))


def _current(up: Up) -> set[str]:
    record = json.loads((up.state_dir / "processes.json").read_text())
    return {record[name]["mark"] for name in SIBLINGS}
