"""The process beside each Ray head: `python -m workers.cluster`. Reads its options, connects, runs its rounds.

Supervisors and their gangs are detached and go on without it. SIGTERM and SIGINT end it and touch nothing else.
"""

import argparse
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from workers.cluster.providers.ray_settings import KEEP_LOOPBACK, NAMESPACE

log = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    """Connect to Ray and the control plane, and run until told to end."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if options.ray is not None:
        cluster: dict[str, Any] = {"address": options.ray, "namespace": NAMESPACE}
    else:
        cluster = json.loads(options.cluster_file.read_text())
    token = options.token_file.read_text().strip()
    work_dir: Path = options.work_dir.resolve()
    work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if cluster["address"].startswith("127."):
        os.environ |= KEEP_LOOPBACK
    return _run(options.server.rstrip("/"), token, work_dir, cluster)


def _run(server: str, token: str, work_dir: Path, cluster: dict[str, Any]) -> int:
    import ray

    from workers.cluster.build import build_id
    from workers.cluster.link import Link
    from workers.cluster.process import ClusterProcess
    from workers.cluster.slices import Slices

    ray.init(
        address=cluster["address"],
        namespace=cluster["namespace"],
        log_to_driver=False,
        logging_level=logging.WARNING,
    )
    wake, build = threading.Event(), build_id()
    process = ClusterProcess(Link(server, token, wake), Slices(build, server, str(work_dir)), work_dir, build, wake)
    # After ray.init, which installs a handler of its own. There is nothing to put in order, and Ray's own way out waits
    # 30 s for a head that is ending as well.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    log.info("connected to Ray at %s for %s, build %s", cluster["address"], server, build)
    return process.run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workers.cluster", description="Connects a Ray cluster to Podwright."
    )
    parser.add_argument("--server", required=True, metavar="URL", help="the control plane, e.g. http://127.0.0.1:8470")
    parser.add_argument("--token-file", type=Path, required=True, help="holds this cluster's token")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--cluster-file", type=Path, help="says where Ray is: address and namespace")
    where.add_argument("--ray", metavar="HOST:PORT", help="where Ray is; a cluster of TPU VMs, see providers.ray")
    parser.add_argument("--work-dir", type=Path, required=True, help="where hosts keep the files of attempts")
    return parser
