"""What tests of the cluster hold in their hands: a rig of processes, orders, and waiting for things to be seen."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.protocol import CheckpointOrder, ProgramOrder, RunOrder, SliceDown, SliceUp, StopOrder
from tests.emulated import Emulated, until
from tests.workers.cluster.control_plane import ControlPlane

TOKEN = "cluster-token"


@dataclass
class Rig:
    """The emulated cluster's process, and a control plane that the test plays."""

    plane: ControlPlane
    state_dir: Path
    emulated: Emulated
    cluster: psutil.Popen | None = None

    @property
    def work_dir(self) -> Path:
        return self.state_dir / "work"

    def start_cluster_process(self) -> None:
        """Start `workers.cluster`, or start it again."""
        arguments = {
            "--server": self.plane.url,
            "--token-file": str(self.state_dir / "token"),
            "--cluster-file": str(self.emulated.cluster_file),
            "--work-dir": str(self.work_dir),
        }
        with (self.state_dir / "cluster-process.log").open("ab") as log:
            command = [sys.executable, "-m", "workers.cluster", *(word for pair in arguments.items() for word in pair)]
            self.cluster = psutil.Popen(command, stderr=log, stdout=log, start_new_session=True)

    def host(self, slice_id: str, host: int) -> dict[str, Any]:
        return self.emulated.host(slice_id, host)

    def wait_for_slice(self, slice_id: str) -> SliceUp:
        """The slice's present reservation: up, and not down since."""

        def look() -> SliceUp | None:
            bodies = [fact.body for fact in list(self.plane.facts)]
            down = {body.incarnation for body in bodies if isinstance(body, SliceDown)}
            ups = [body for body in bodies if isinstance(body, SliceUp) and body.slice_id == slice_id]
            return ups[-1] if ups and ups[-1].incarnation not in down else None

        return until(look, f"{slice_id} is up")


def an_order(
    attempt_id: str, slices: str | tuple[str, ...], *command: str, stop: StopOrder | None = None, **variables: str
) -> RunOrder:
    on = (slices,) if isinstance(slices, str) else slices
    return RunOrder(
        epoch=1,
        job_id=JobId(f"job-of-{attempt_id}"),
        attempt_id=AttemptId(attempt_id),
        number=1,
        slices=tuple(map(SliceId, on)),
        program=ProgramOrder(builtin=None, config_json=None, command=command),
        env_vars=variables,
        checkpoint=CheckpointOrder("", None),
        token=f"token-of-{attempt_id}",
        stop=stop,
    )
