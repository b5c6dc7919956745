"""What we want of every Ray node, emulated or real: set in its environment before Ray starts."""

from typing import Final

NAMESPACE: Final = "podwright"
OBJECT_STORE_BYTES: Final = 80 * 1024 * 1024
"""Ray's smallest is 75 MiB. Nothing of ours travels through the object store."""

OF_EVERY_NODE: Final = {
    "RAY_memory_monitor_refresh_ms": "0",  # it would kill an agent for what its rank allocates
    "RAY_worker_oom_score_adjustment": "0",  # the kernel shall take the rank, not the agent
    "RAY_worker_niceness": "0",  # Ray's 15 would pass on to the ranks, which are the point of the host
    "RAY_prestart_worker_first_driver": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_EXPERIMENTAL_NOSET_TPU_VISIBLE_CHIPS": "1",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}

KEEP_LOOPBACK: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray takes the machine's own address for every loopback one, where a cluster on loopback does not listen. The name is
Ray's switch for systems without clusters, and it is read when Ray is imported."""
