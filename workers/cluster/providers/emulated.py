"""A Ray cluster whose nodes emulate TPU hosts with CPU devices: `python -m workers.cluster.providers.emulated`.

A process and session of its own: `ray.cluster_utils.Cluster` dies with the process that made it, and it must outlive
the control plane. Everything listens on loopback. Once all nodes answer, `<state-dir>/cluster.json` says where it is.
"""

import argparse
import contextlib
import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import psutil

from orchestrator.domain.topology import SliceShape
from workers.cluster.providers.ray_settings import NAMESPACE, OBJECT_STORE_BYTES, OF_EVERY_NODE
from workers.host import labels
from workers.host.drill import end_all

T = TypeVar("T")
log = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
START_TRIES: Final = 4

RAY_SETTINGS: Final = {
    # A dead raylet refuses connections, so each check fails at once: five in a row, one per second, is about 5 s. A
    # live one on busy cores is only slow, and has 3 s for each of the five.
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "3000",
    "RAY_health_check_failure_threshold": "5",
    **OF_EVERY_NODE,
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
    with contextlib.suppress(SystemExit), _fresh_temp_dir(state_dir) as temp_dir, _no_process_left():
        _end_on_signals()
        cluster = EmulatedCluster(options, temp_dir)
        try:
            _write(description, cluster.describe())
            while True:
                time.sleep(1.0)
                if cluster.tend():
                    _write(description, cluster.describe())
        finally:
            description.unlink(missing_ok=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.cluster.providers.emulated", description=__doc__)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--slices", type=SliceShape.parse, required=True, metavar="SHAPE", help="e.g. v5e:2x4")
    parser.add_argument("--count", type=int, default=1, help="how many slices")
    parser.add_argument("--pool", default="emulated-v5e", help="slices are named <pool>-0, <pool>-1, …")
    parser.add_argument(
        "--replace-after",
        type=float,
        metavar="SECONDS",
        help="a host that died comes back after so long; default: never",
    )
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


class EmulatedCluster:
    """Ray's own processes, all children of this one, on loopback."""

    def __init__(self, options: argparse.Namespace, temp_dir: Path) -> None:
        os.environ.update(RAY_SETTINGS)
        # Else `Cluster` rewrites, and at its end removes, the address file that every Ray on this machine shares.
        os.environ["RAY_TMPDIR"] = str(temp_dir)
        (temp_dir / "ray").mkdir()
        from ray.cluster_utils import Cluster  # here, because Ray reads the settings above when it is imported

        self._shape: SliceShape = options.slices
        self._pool: str = options.pool
        self._replace_after: float | None = options.replace_after
        self._temp_dir = temp_dir
        self._common = {
            "node_ip_address": LOOPBACK,
            "object_store_memory": OBJECT_STORE_BYTES,
            "temp_dir": str(temp_dir),
        }
        head = {**self._common, "num_cpus": 0, "include_dashboard": False, "include_log_monitor": False}
        self._cluster: Any = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        temp_dir.chmod(0o700)  # Ray opens it to all, and with it the sockets of whoever may run code here
        self._hosts: dict[tuple[str, int], tuple[EmulatedHost, Any]] = {}
        self._died_at: dict[tuple[str, int], float] = {}
        for index in range(options.count):
            for host in range(self._shape.hosts):
                self._add(f"{self._pool}-{index}", host)

    def describe(self) -> dict[str, Any]:
        """What `cluster.json` says."""
        return {
            "address": self._cluster.gcs_address,
            "pid": os.getpid(),
            "temp_dir": str(self._temp_dir),
            "namespace": NAMESPACE,
            "hosts": [asdict(host) for host, _ in self._hosts.values()],
        }

    def tend(self) -> bool:
        """Reap what a drill killed, and replace hosts whose time has come; whether a host is another one now."""
        changed = False
        for key, (_, node) in list(self._hosts.items()):
            # Dead raylets are our children and would stay zombies.
            dead = _raylet(node).poll() is not None
            if dead and self._replace_after is not None:
                died_at = self._died_at.setdefault(key, time.monotonic())
                if time.monotonic() - died_at >= self._replace_after:
                    del self._died_at[key]
                    self._cluster.worker_nodes.discard(node)
                    self._add(*key)
                    changed = True
        return changed

    def _add(self, slice_id: str, host: int) -> None:
        chips = self._shape.chips_per_host
        names = labels.of_host(slice_id, host, self._shape, pool=self._pool, capacity="spot")
        arguments = {**self._common, "num_cpus": 1, "resources": {"TPU": chips}}
        node = _patiently(lambda: self._cluster.add_node(**arguments, labels={**names, labels.EMULATED: "true"}))
        self._hosts[slice_id, host] = EmulatedHost(slice_id, host, node.node_id, _raylet(node).pid, chips), node


def _patiently(start: Callable[[], T]) -> T:
    """Call `start` until it succeeds, a few times; what a failed try left running is killed.

    Ray gives a node 30 s, which cannot be set and is too short while other processes keep all cores busy.

    Raises:
        TimeoutError: no try succeeded.
    """
    before = set(psutil.Process().children(recursive=True))
    for _ in range(START_TRIES):
        try:
            started = start()
            _end_on_signals()
            return started
        except Exception as error:  # noqa: BLE001  Ray raises nothing narrower
            log.warning("a Ray node did not start, trying again: %s", error)
            end_all(set(psutil.Process().children(recursive=True)) - before, timeout_s=20)
    raise TimeoutError(f"a Ray node did not start in {START_TRIES} tries")


def _end_on_signals() -> None:
    """Take back the signals: with each node Ray puts in a SIGTERM handler that drains for up to 30 s."""

    def end(_signal: int, _frame: object) -> None:
        raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def _raylet(node: Any) -> subprocess.Popen[bytes]:
    process: subprocess.Popen[bytes] = node.all_processes["raylet"][0].process
    return process


def _write(path: Path, description: dict[str, Any]) -> None:
    """Say where the cluster is, in one rename: a reader never sees half of it."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(description, indent=2))
    partial.replace(path)


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    os._exit(code)  # all is ended; Ray's exit hooks would wait for nodes that are gone
