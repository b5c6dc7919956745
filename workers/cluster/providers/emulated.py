"""A Ray cluster whose nodes emulate TPU hosts with CPU devices: `python -m workers.cluster.providers.emulated`.

A process and session of its own: `ray.cluster_utils.Cluster` dies with the process that made it, and it must outlive
the control plane. Everything listens on loopback. Once all nodes answer, `<state-dir>/cluster.json` says where it is.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from orchestrator.domain.topology import SliceShape
from workers.host import labels
from workers.host.drill import end_all

NAMESPACE: Final = "podwright"
LOOPBACK: Final = "127.0.0.1"
OBJECT_STORE_BYTES: Final = 80 * 1024 * 1024
"""Ray's smallest is 75 MiB. Nothing of ours travels through the object store."""

RAY_SETTINGS: Final = {
    # A dead raylet refuses connections, so each check fails at once: five in a row, one per second, is about 5 s. A
    # live one on busy cores is only slow, and has 3 s for each of the five.
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "3000",
    "RAY_health_check_failure_threshold": "5",
    "RAY_memory_monitor_refresh_ms": "0",  # it would kill an agent for what its rank allocates
    "RAY_worker_oom_score_adjustment": "0",  # the kernel shall take the rank, not the agent
    "RAY_prestart_worker_first_driver": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_EXPERIMENTAL_NOSET_TPU_VISIBLE_CHIPS": "1",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@dataclass(frozen=True, slots=True)
class EmulatedHost:
    """One node as `cluster.json` names it."""

    slice: str
    host: int
    node_id: str
    raylet_pid: int
    chips: int


def main(arguments: list[str] | None = None) -> int:
    """Run the cluster until SIGTERM or SIGINT; leave no process and no temporary folder."""
    options = _parser().parse_args(arguments)
    state_dir: Path = options.state_dir.resolve()
    state_dir.mkdir(parents=True, exist_ok=True)
    description = state_dir / "cluster.json"
    description.unlink(missing_ok=True)
    ended = threading.Event()

    def end(_signal: int, _frame: object) -> None:
        ended.set()
        raise SystemExit(0)

    with _fresh_temp_dir(state_dir) as temp_dir, _no_process_left():
        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        cluster, hosts = _start(options, temp_dir)
        # Ray installs a SIGTERM handler of its own with each node.
        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        try:
            _write(description, cluster.gcs_address, temp_dir, hosts)
            while not ended.wait(1.0):
                _reap(cluster)
        finally:
            description.unlink(missing_ok=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.cluster.providers.emulated", description=__doc__)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--slices", type=SliceShape.parse, required=True, metavar="SHAPE", help="e.g. v5e:2x4")
    parser.add_argument("--count", type=int, default=1, help="how many slices")
    parser.add_argument("--pool", default="emulated-v5e", help="slices are named <pool>-0, <pool>-1, …")
    return parser


@contextlib.contextmanager
def _fresh_temp_dir(state_dir: Path) -> Iterator[Path]:
    """Ray's folder of this state directory: the same in every run, so that a dead run's leavings are found and removed.

    Short, because Ray puts sockets in it and their paths are limited to 107 bytes.
    """
    digest = hashlib.sha256(str(state_dir).encode()).hexdigest()[:10]
    temp_dir = Path(tempfile.gettempdir()) / f"pw-{digest}"
    shutil.rmtree(temp_dir, ignore_errors=True)
    temp_dir.mkdir(mode=0o700)
    try:
        yield temp_dir
    finally:
        shutil.rmtree(temp_dir, ignore_errors=True)


@contextlib.contextmanager
def _no_process_left() -> Iterator[None]:
    """SIGKILL everything below this process at the end: an emulated cluster has nothing to save, and Ray takes long."""
    try:
        yield
    finally:
        end_all(psutil.Process().children(recursive=True), timeout_s=20)


def _start(options: argparse.Namespace, temp_dir: Path) -> tuple[Any, list[EmulatedHost]]:
    os.environ.update(RAY_SETTINGS)
    # Else `Cluster` rewrites, and at its end removes, the address file that every Ray on this machine shares.
    os.environ["RAY_TMPDIR"] = str(temp_dir)
    (temp_dir / "ray").mkdir()
    import ray  # here, because it reads the settings above when it is imported
    from ray.cluster_utils import Cluster

    common = {"node_ip_address": LOOPBACK, "object_store_memory": OBJECT_STORE_BYTES, "temp_dir": str(temp_dir)}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**common, "num_cpus": 0, "include_dashboard": False, "include_log_monitor": False},
    )
    shape: SliceShape = options.slices
    hosts = []
    for index in range(options.count):
        for host in range(shape.hosts):
            slice_id = f"{options.pool}-{index}"
            node = cluster.add_node(
                **common,
                num_cpus=1,
                resources={"TPU": shape.chips_per_host},
                labels={
                    **labels.of_host(slice_id, host, shape, pool=options.pool, capacity="spot"),
                    labels.EMULATED: "true",
                },
            )
            raylet = node.all_processes[ray._private.ray_constants.PROCESS_TYPE_RAYLET][0].process
            hosts.append(EmulatedHost(slice_id, host, node.node_id, raylet.pid, shape.chips_per_host))
    return cluster, hosts


def _write(path: Path, address: str, temp_dir: Path, hosts: list[EmulatedHost]) -> None:
    """Say where the cluster is, in one rename: a reader never sees half of it."""
    text = json.dumps(
        {
            "address": address,
            "pid": os.getpid(),
            "temp_dir": str(temp_dir),
            "namespace": NAMESPACE,
            "hosts": [asdict(host) for host in hosts],
        },
        indent=2,
    )
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


def _reap(cluster: Any) -> None:
    """Collect raylets that a drill killed; they are our children and would stay zombies."""
    for node in cluster.worker_nodes:
        for processes in node.all_processes.values():
            for info in processes:
                info.process.poll()


if __name__ == "__main__":
    sys.exit(main())
