"""What earlier agents left on a host is removed once it is old and nobody uses it."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.emulated import until
from workers.host.agent import Agent
from workers.host.leftovers import KEEP_S
from workers.host.messages import HostOrder


def a_folder(path: Path, *, age_s: float, newest_file_s: float | None = None) -> Path:
    path.mkdir(parents=True)
    (path / "stderr.log").touch()
    for file, age in ((path / "stderr.log", newest_file_s if newest_file_s is not None else age_s), (path, age_s)):
        then = time.time() - age
        os.utime(file, (then, then))
    return path


@pytest.mark.parametrize("parent", ["slice-0", "compile-cache"])
def test_an_agent_that_starts_removes_what_is_older_than_a_week(tmp_path: Path, parent: str) -> None:
    old = a_folder(tmp_path / parent / "old", age_s=KEEP_S + 60)
    young = a_folder(tmp_path / parent / "young", age_s=KEEP_S - 60)
    written = a_folder(tmp_path / parent / "written", age_s=KEEP_S + 60, newest_file_s=5)
    other_host = a_folder(tmp_path / "slice-1" / "old", age_s=KEEP_S + 60)
    Agent(HostOrder("slice", 0, 4, True, str(tmp_path)))
    assert [path.exists() for path in (old, young, written, other_host)] == [False, True, True, True]


def test_what_a_live_rank_was_started_for_stays(tmp_path: Path) -> None:
    live = a_folder(tmp_path / "slice-0" / "live", age_s=KEEP_S + 60)
    cache = a_folder(tmp_path / "compile-cache" / "its-job", age_s=KEEP_S + 60)
    marks = {"PODWRIGHT_ATTEMPT_ID": "live", "PODWRIGHT_JOB_ID": "its-job"}
    rank = subprocess.Popen(["sleep", "600"], env=marks | {"PATH": os.environ["PATH"]})
    try:
        environment = Path(f"/proc/{rank.pid}/environ")
        until(lambda: environment.read_bytes() or None, "the kernel shows it: just after exec it is empty")
        Agent(HostOrder("slice", 0, 4, True, str(tmp_path)))
    finally:
        rank.kill()
        rank.wait()
    assert live.exists()
    assert cache.exists()
