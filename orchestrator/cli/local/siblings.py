"""The three processes of a local control plane: what each is started with, and what it says when it is well."""

import json
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from orchestrator.domain.topology import SliceShape


class Sibling(StrEnum):
    """Each is a session of its own, so that none is the other's child and each may be replaced alone."""

    SERVER = "server"
    CLUSTER = "cluster"
    WORKERS = "workers"


START_ORDER: Final = (Sibling.SERVER, Sibling.CLUSTER, Sibling.WORKERS)
END_ORDER: Final = tuple(reversed(START_ORDER))
"""The workers first: they would take the loss of the cluster for a failure and report it."""

SAYS: Final = {
    Sibling.SERVER: "control plane",
    Sibling.CLUSTER: "emulated Ray cluster",
    Sibling.WORKERS: "cluster process",
}
GRACE_S: Final = {Sibling.SERVER: 10.0, Sibling.CLUSTER: 30.0, Sibling.WORKERS: 10.0}
"""From SIGTERM to SIGKILL. Ray nodes end one after another."""


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """What `podwright up` was asked for."""

    state_dir: Path
    shape: SliceShape
    count: int
    port: int | None
    """None: the server chooses a free one, and takes the same again after a restart."""

    def log(self, sibling: Sibling) -> Path:
        return self.state_dir / "logs" / f"{sibling}.log"


def server_command(plan: LocalPlan) -> tuple[str, ...]:
    port_option = () if plan.port is None else ("--port", str(plan.port))
    return (sys.executable, "-m", "orchestrator.main", "--state-dir", str(plan.state_dir), *port_option)


def cluster_command(plan: LocalPlan) -> tuple[str, ...]:
    module = "workers.cluster.providers.emulated"
    slices = ("--slices", str(plan.shape), "--count", str(plan.count))
    return (sys.executable, "-m", module, "--state-dir", str(plan.state_dir), *slices)


def workers_command(plan: LocalPlan, server_url: str) -> tuple[str, ...]:
    files = {"--token-file": "cluster.token", "--cluster-file": "cluster.json", "--work-dir": "work"}
    options = [part for option, name in files.items() for part in (option, str(plan.state_dir / name))]
    return (sys.executable, "-m", "workers.cluster", "--server", server_url, *options)


def description(plan: LocalPlan, sibling: Sibling, pid: int) -> dict[str, Any] | None:
    """What the sibling wrote about itself in `<state>/<name>.json`; None while it has not, or if an older one did."""
    try:
        said = json.loads((plan.state_dir / f"{sibling}.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return said if isinstance(said, dict) and said.get("pid") == pid else None
