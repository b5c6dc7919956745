"""A whole Podwright: the real server and the real cluster process, each of which a test may kill and start again."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from orchestrator.client import Client
from orchestrator.client.errors import ApiError
from tests.emulated import Emulated, end, until

Answer = dict[str, Any]


class Podwright:
    """One control plane on the session's emulated cluster."""

    def __init__(self, state_dir: Path, emulated: Emulated) -> None:
        self.state_dir = state_dir
        self.emulated = emulated
        self.server: psutil.Popen | None = None
        self.workers: psutil.Popen | None = None

    def start_server(self) -> None:
        """Start the control plane; it comes back on the port it had."""
        description = self.state_dir / "server.json"
        self.server = self._start("orchestrator.main", "--state-dir", str(self.state_dir))
        pid = self.server.pid

        def listens() -> bool | None:
            return (description.exists() and json.loads(description.read_text())["pid"] == pid) or None

        until(listens, "the server listens")
        self.url = json.loads(description.read_text())["url"]
        self.client = Client(self.url, (self.state_dir / "admin.token").read_text().strip())

    def start_workers(self) -> None:
        """Start the cluster process."""
        arguments = {
            "--server": self.url,
            "--token-file": str(self.state_dir / "cluster.token"),
            "--cluster-file": str(self.emulated.cluster_file),
            "--work-dir": str(self.state_dir / "work"),
        }
        self.workers = self._start("workers.cluster", *(word for pair in arguments.items() for word in pair))

    def stop(self) -> None:
        for process in (self.workers, self.server):
            if process is not None:
                end(process)

    def _start(self, module: str, *options: str) -> psutil.Popen:
        with (self.state_dir / f"{module}.log").open("ab") as log:
            return psutil.Popen(
                [sys.executable, "-m", module, *options], stdout=log, stderr=log, start_new_session=True
            )

    # ------------------------------------------------------------------------------------------------------ asking

    def cli(self, *words: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run `podwright` as a person would, output piped."""
        environment = os.environ | {"PODWRIGHT_STATE": str(self.state_dir)}
        command = [sys.executable, "-m", "orchestrator.cli.main", *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=timeout_s, check=False)

    def wait_for_slices(self, count: int = 2) -> None:
        def look() -> bool | None:
            states = [(found["state"], found["attempt_id"]) for found in self.client.fleet.slices()]
            return states.count(("up", None)) >= count or None

        until(look, f"{count} slices are up and free", 120)

    def submit(self, name: str, *command: str, **spec: Any) -> str:
        program = {"command": list(command)} if command else spec.pop("program")
        body = {"name": name, "slices": "v5e:2x4", "program": program, "retry": {"failures": 0}}
        return str(self.client.submit(body | spec)["id"])

    def wait(self, job_id: str, timeout_s: float = 120) -> Answer:
        return self.client.wait(job_id, timeout_s)

    def wait_for_step(self, job_id: str, step: int) -> Answer:
        """The job, once it has reported so many steps."""

        def look() -> Answer | None:
            try:
                job = self.client.job(job_id)
            except ApiError:
                return None
            assert job["state"] not in ("FAILED", "SUCCEEDED", "CANCELLED"), job["message"]
            return job if job["progress"] and (job["progress"]["step"] or 0) >= step else None

        return until(look, f"{job_id} has made {step} steps", 120)

    def losses(self, job_id: str, attempt: int | None = None) -> dict[int, float]:
        """Step to loss."""
        series = self.client.metrics(job_id, ["loss"], attempt)
        return {step: value for one in series for step, value in zip(one["steps"], one["values"], strict=True)}

    def log(self, job_id: str, rank: int = 0, stream: str = "stdout") -> bytes:
        return b"".join(self.client.logs(job_id, rank=rank, stream=stream))

    def pids(self, job_id: str) -> list[int]:
        attempt = self.client.job(job_id)["attempt"]
        return [rank["pid"] for rank in attempt["ranks"]]
