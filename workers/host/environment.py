"""The environment of a rank: a small base of the host's, the user's variables, and the contract's. Pure.

The base is chosen by name: Ray edits the environment of its workers, and what the agent inherited is no business of a
user's program. The contract wins over the user, the user over everything else.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from workers.host import notice, output
from workers.host.messages import HostOrder, RankOrder
from workers.rank.distributed import bare_initialize_variables

PREFIX: Final = "PODWRIGHT_"
INHERITED: Final = frozenset(
    {"HOME", "LANG", "LC_ALL", "LOGNAME", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV"}
    | {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}
    | {"REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"}
)
MEGASCALE_PORT: Final = "8081"
"""Ray's default. A host runs one attempt at a time, so the port is free for it."""
DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def rank_environment(
    base: Mapping[str, str], host: HostOrder, order: RankOrder, *, folder: Path, compile_cache: Path
) -> dict[str, str]:
    """All variables of one rank's process. `base` is the agent's own environment."""
    environment = {name: value for name, value in base.items() if name in INHERITED}
    # `python` and console scripts are those of the environment that runs the agent.
    environment["PATH"] = f"{Path(sys.executable).parent}:{base.get('PATH', DEFAULT_PATH)}"
    environment["PYTHONUNBUFFERED"] = "1"  # a killed rank's last words are its evidence
    environment["JAX_COMPILATION_CACHE_DIR"] = str(compile_cache)
    if order.program.code is not None:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"  # its folder is not its own: other attempts run there too
    environment |= bare_initialize_variables(order.coordinator, order.rank, order.rank_count, 0)
    if order.slice_count > 1:
        environment |= multislice_variables(order)
    if host.emulated:
        environment |= emulated_variables(host.chips)
    environment |= {name: value for name, value in order.env_vars.items() if not name.startswith(PREFIX)}
    return environment | contract_variables(host, order, folder)


def emulated_variables(chips: int) -> dict[str, str]:
    """CPU devices for chips. One thread per rank: the ranks of all hosts share one machine with their agents."""
    return {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={chips} --xla_cpu_multi_thread_eigen=false",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }


def multislice_variables(order: RankOrder) -> dict[str, str]:
    """How libtpu finds the other slices over the data-centre network: the names that Ray and GKE set, from our records.

    The coordinator is on host 0 of the first slice, as that of jax.distributed is, on a port of its own.
    """
    return {
        "MEGASCALE_COORDINATOR_ADDRESS": order.coordinator.rpartition(":")[0],
        "MEGASCALE_PORT": MEGASCALE_PORT,
        "MEGASCALE_NUM_SLICES": str(order.slice_count),
        "MEGASCALE_SLICE_ID": str(order.slice_index),
    }


def contract_variables(host: HostOrder, order: RankOrder, folder: Path) -> dict[str, str]:
    """What every program may rely on; `workers.rank.context` reads them."""
    variables = {
        "PODWRIGHT_JOB_ID": order.job_id,
        "PODWRIGHT_ATTEMPT_ID": order.attempt_id,
        "PODWRIGHT_ATTEMPT": str(order.number),
        "PODWRIGHT_RANK": str(order.rank),
        "PODWRIGHT_RANK_COUNT": str(order.rank_count),
        "PODWRIGHT_SLICE": host.slice_id,
        "PODWRIGHT_SLICE_INDEX": str(order.slice_index),
        "PODWRIGHT_SLICE_COUNT": str(order.slice_count),
        "PODWRIGHT_HOST": str(host.host),
        "PODWRIGHT_COORDINATOR": order.coordinator,
        "PODWRIGHT_SPOOL": str(folder / "spool.jsonl"),
        "PODWRIGHT_NOTICE": str(folder / notice.FILE),
        "PODWRIGHT_OUTPUT": str(folder / output.FOLDER),
        "PODWRIGHT_CHECKPOINT_ROOT": order.checkpoint_root,
    }
    if order.program.builtin is not None:
        variables["PODWRIGHT_CONFIG"] = str(folder / "config.json")
    if order.program.code is not None:
        variables["PODWRIGHT_CODE"] = order.program.code
    if order.checkpoint_every_steps is not None:
        variables["PODWRIGHT_CHECKPOINT_EVERY_STEPS"] = str(order.checkpoint_every_steps)
    if order.committed_step is not None:
        variables["PODWRIGHT_COMMITTED_STEP"] = str(order.committed_step)
    if order.save_deadline_ms is not None:
        variables["PODWRIGHT_SAVE_DEADLINE_MS"] = str(order.save_deadline_ms)
    if order.checkpoint_origin is not None:
        variables["PODWRIGHT_CHECKPOINT_ORIGIN"] = order.checkpoint_origin
    return variables


def argv(order: RankOrder) -> list[str]:
    """What the rank executes. A command is passed on as it is, never through a shell."""
    if order.program.builtin is not None:
        return [sys.executable, "-m", "workers.rank", order.program.builtin]
    return list(order.program.command)
