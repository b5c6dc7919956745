"""Whether a rank failed because the coordinator's port was taken, and not some port of its program's own. Pure."""

from typing import Final

from orchestrator.domain.incident import RankExit

_TAKEN: Final = "address already in use"
_JAX: Final = "failed to add port to server"
"""What gRPC prints in jax.distributed, followed by the address."""


def is_port_clash(found: RankExit, coordinator: str) -> bool:
    """Whether rank 0, which binds `coordinator` (`host:port`), could not: the port was free only when it was chosen.

    The text has to name that port: a program whose own server finds its port taken has failed by itself.
    """
    if found.rank != 0 or found.ordered or found.last_step is not None:
        return False
    said = [*found.stderr_tail, found.claim.message if found.claim is not None else ""]
    port = coordinator.rpartition(":")[2]
    return any(port in line and (_TAKEN in line.lower() or _JAX in line.lower()) for line in said)
