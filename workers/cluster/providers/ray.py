"""A Ray cluster of real TPU VMs: whoever creates the TPUs runs `host` on each VM, and `head` on one other machine.

python -m workers.cluster.providers.ray head --server URL --token-file FILE --work-dir DIR
python -m workers.cluster.providers.ray host --head HOST:PORT

Its slices are the Ray nodes that carry TPU labels, which `host` reads from the metadata server. Both commands end by
becoming the process that they are for, so whatever started them (a container, systemd) sees and signals that one.
Ray trusts whoever reaches its ports: they belong in a network of the cluster's own.
"""

import argparse
import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

from workers.cluster.providers.ray_settings import OBJECT_STORE_BYTES, OF_EVERY_NODE
from workers.host import labels
from workers.host.tpu_vm import SERVER, NotATpuVm, TpuVm, chips_here, fetch_from, read_tpu_vm

PORT: Final = 6379
EXIT_USAGE: Final = 2

log = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    """Become a Ray head with its cluster process, or a host of a slice; returns only if that cannot be."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    environment = {**os.environ, **OF_EVERY_NODE}
    try:
        command = _head(options, environment) if options.role == "head" else _host(options)
    except (NotATpuVm, ValueError, subprocess.CalledProcessError) as error:
        log.error("cannot start: %s", error)
        return EXIT_USAGE
    return _become(command, environment)


def _become(command: list[str], environment: Mapping[str, str]) -> NoReturn:
    os.execve(command[0], command, environment)


def host_command(vm: TpuVm, *, head: str, pool: str | None, emulated: bool, address: str | None = None) -> list[str]:
    """`ray start` for one host. A pool that is named here goes before that of the metadata."""
    named = labels.of_host(vm.slice_id, vm.host, vm.shape, pool=pool or vm.pool or "default", capacity=vm.capacity)
    if emulated:
        named[labels.EMULATED] = "true"
    return [
        *_ray("start", f"--address={head}", "--block", "--num-cpus=1"),
        f"--resources={json.dumps({'TPU': vm.shape.chips_per_host})}",
        f"--labels={','.join(f'{name}={value}' for name, value in named.items())}",
        *([f"--node-ip-address={address}"] if address else []),
    ]


def check_chips(vm: TpuVm, found: int) -> None:
    """Make sure that the machine has the chips that its slice's shape gives a host.

    Raises:
        NotATpuVm: it has more or fewer; an attempt there would start ranks that do not fit.
    """
    wanted = vm.shape.chips_per_host
    if found != wanted:
        raise NotATpuVm(
            f"this machine shows {found} TPU chips, but hosts of {vm.shape} have {wanted} here; machine types with "
            f"eight chips per host are not supported"
        )


def _host(options: argparse.Namespace) -> list[str]:
    vm = read_tpu_vm(fetch_from(options.metadata))
    if not options.emulated:
        check_chips(vm, chips_here())
    log.info("host %d of %s (%s, %s) joins %s", vm.host, vm.slice_id, vm.shape, vm.capacity, options.head)
    head, pool, address = options.head, options.pool, options.address
    return host_command(vm, head=head, pool=pool, emulated=options.emulated, address=address)


def _head(options: argparse.Namespace, environment: Mapping[str, str]) -> list[str]:
    """Start Ray's head, then give the command of the cluster process beside it, which dies with the head."""
    address = options.address or _own_address()
    start = _ray("start", "--head", f"--port={options.port}", f"--node-ip-address={address}", "--num-cpus=0")
    subprocess.run([*start, "--include-dashboard=false"], env=environment, check=True)
    given = ("--server", options.server, "--token-file", str(options.token_file), "--work-dir", str(options.work_dir))
    return [sys.executable, "-m", "workers.cluster", "--ray", f"{address}:{options.port}", *given]


def _ray(*arguments: str) -> list[str]:
    """Ray's own command line, of this interpreter's installation."""
    common = ("--disable-usage-stats", f"--object-store-memory={OBJECT_STORE_BYTES}")
    return [sys.executable, "-m", "ray.scripts.scripts", *arguments, *common]


def _own_address() -> str:
    from ray.util import get_node_ip_address

    return str(get_node_ip_address())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.cluster.providers.ray", description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    head = roles.add_parser("head", help="start a Ray head and connect it to the control plane")
    head.add_argument("--server", required=True, metavar="URL", help="the control plane; TPU VMs must reach it too")
    head.add_argument("--token-file", type=Path, required=True, help="holds this cluster's token")
    head.add_argument("--work-dir", type=Path, required=True, help="where hosts keep the files of attempts")
    head.add_argument("--port", type=int, default=PORT, help="that TPU VMs join at")
    head.add_argument("--address", help="of this machine, as TPU VMs reach it; default: Ray's guess")
    host = roles.add_parser("host", help="join a Ray head as the TPU host that the metadata server describes")
    host.add_argument("--head", required=True, metavar="HOST:PORT", help="where the Ray head is")
    host.add_argument("--pool", help="default: the metadata attribute podwright-pool, else 'default'")
    host.add_argument("--metadata", default=SERVER, metavar="URL", help="the metadata server, for rehearsals")
    host.add_argument("--address", help="of this machine, as the head reaches it; default: Ray's guess")
    host.add_argument("--emulated", action="store_true", help="CPU devices instead of chips, for rehearsals")
    return parser


if __name__ == "__main__":
    sys.exit(main())
