"""A real server as a process, on a free port and a folder of its own."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from orchestrator.client import Client

REPOSITORY: Final = Path(__file__).parents[3]
DEADLINE_S: Final = 90
"""Two cores that others use too have needed 20 s for the imports."""


@dataclass(slots=True)
class Server:
    state_dir: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def start(
        cls, state_dir: Path, *options: str, python: str | Path = sys.executable, folder: Path = REPOSITORY
    ) -> "Server":
        """Start it, with `folder` as its working directory, and wait until it answers."""
        command = [str(python), "-m", "orchestrator.main", "--state-dir", str(state_dir), *options]
        with state_dir.with_suffix(".log").open("ab") as log:
            process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        server = cls(state_dir, process)
        deadline = time.monotonic() + DEADLINE_S
        while server.described.get("pid") != process.pid:
            assert process.poll() is None, server.log
            assert time.monotonic() < deadline, server.log
            time.sleep(0.05)
        return server

    @property
    def described(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.state_dir / "server.json").read_text()))
        except FileNotFoundError:
            return {}

    @property
    def url(self) -> str:
        return str(self.described["url"])

    @property
    def log(self) -> str:
        return self.state_dir.with_suffix(".log").read_text()

    def token(self, kind: str = "admin") -> str:
        return (self.state_dir / f"{kind}.token").read_text().strip()

    def client(self) -> Client:
        return Client(self.url, self.token())

    def stop(self) -> float:
        """End it with SIGTERM; how many seconds that took."""
        before = time.monotonic()
        self.process.terminate()
        self.process.wait(DEADLINE_S)
        return time.monotonic() - before

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(DEADLINE_S)
