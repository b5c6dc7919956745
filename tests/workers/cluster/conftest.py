"""One emulated Ray cluster for the session, one cluster process that tests may kill and start again."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.workers.cluster.control_plane import ControlPlane
from tests.workers.cluster.rig import TOKEN, Rig, runs, until


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    state_dir = tmp_path_factory.mktemp("emulated")
    (state_dir / "token").write_text(TOKEN)
    with (state_dir / "emulator.log").open("wb") as log:
        command = [sys.executable, "-m", "workers.cluster.providers.emulated"]
        options = ["--state-dir", str(state_dir), "--slices", "v5e:2x4", "--count", "2", "--replace-after", "1"]
        emulator = subprocess.Popen([*command, *options], stdout=log, stderr=log, start_new_session=True)
    rig = Rig(ControlPlane(TOKEN), state_dir, emulator)
    try:
        until(lambda: (state_dir / "cluster.json").exists() or emulator.poll() is not None or None, "Ray is up", 170)
        assert emulator.poll() is None, (state_dir / "emulator.log").read_text()
        rig.start_cluster_process()
        yield rig
    finally:
        started = [*psutil.Process().children(recursive=True)]
        for process in (rig.cluster, rig.emulator):
            if process is not None and process.poll() is None:
                os.kill(process.pid, signal.SIGTERM)
        for process in (rig.cluster, rig.emulator):
            if process is not None:
                process.wait(60)
        rig.plane.close()
        until(lambda: not any(map(runs, started)) or None, "no process is left", 20)
