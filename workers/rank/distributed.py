"""Joining the gang: jax.distributed with our time limits, and the variables with which an unmodified script joins."""

from __future__ import annotations

from workers.rank.context import RankContext
from workers.rank.progress import Reporter

# JAX's own 100 s leave the survivors of a killed rank waiting for 92 s; these end them in 6.6 s.
HEARTBEAT_TIMEOUT_S = 10
SHUTDOWN_TIMEOUT_S = 10
CONNECT_TIMEOUT_S = 3600
"""Ours is shorter, grows with the gang and names the rank that is missing; this one ends what nobody leads."""


def initialize(context: RankContext, reporter: Reporter) -> None:
    """Join the gang and wait until all its ranks did. Once per process life.

    A gang of one joins as well, so that one code path serves every size. The phase `join` is that of the barrier: who
    is not in it when the time is up is missing. Raises what JAX raises, after an hour without the others.
    """
    import jax

    reporter.phase("join")
    jax.distributed.initialize(
        coordinator_address=context.coordinator,
        # By default JAX listens on all interfaces.
        coordinator_bind_address=context.coordinator,
        num_processes=context.rank_count,
        process_id=context.rank,
        cluster_detection_method="deactivate",
        initialization_timeout=CONNECT_TIMEOUT_S,
        heartbeat_timeout_seconds=HEARTBEAT_TIMEOUT_S,
        shutdown_timeout_seconds=SHUTDOWN_TIMEOUT_S,
    )
    reporter.phase("init")


def leave() -> None:
    """Leave together with all other ranks; does nothing in a process that never joined."""
    import jax

    jax.distributed.shutdown()


def bare_initialize_variables(coordinator: str, rank: int, rank_count: int, local_rank: int = 0) -> dict[str, str]:
    """The environment in which a bare `jax.distributed.initialize()` joins the gang on a CPU host.

    JAX 0.10 takes the address from its own variable but detects size and rank only through a known launcher, of which
    Open MPI's is the one that needs nothing but variables. It is recognised by its URI, which JAX then does not parse.
    """
    return {
        "JAX_COORDINATOR_ADDRESS": coordinator,
        "JAX_COORDINATOR_BIND_ADDRESS": coordinator,
        "OMPI_MCA_orte_hnp_uri": f"0.0;tcp://{coordinator}",
        "OMPI_COMM_WORLD_SIZE": str(rank_count),
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(local_rank),
    }
