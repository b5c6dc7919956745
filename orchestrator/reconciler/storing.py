"""Clusters that cannot write checkpoints, and what is not placed because of that. Pure.

A built-in program saves; what a command does is not known, and it may need no checkpoints at all.
"""

from collections.abc import Iterable

from orchestrator.domain.ids import ClusterId
from orchestrator.domain.job import Cluster, Job


def left_out(clusters: Iterable[Cluster]) -> frozenset[ClusterId]:
    """Of the clusters that could take a job, those that nothing is placed on while others are sound."""
    known = tuple(clusters)
    faulty = frozenset(cluster.id for cluster in known if cluster.storage_fault is not None)
    return faulty if len(faulty) < len(known) else frozenset()


def held_back(job: Job, clusters: Iterable[Cluster]) -> str | None:
    """Why the job is not placed anywhere, in words; None if there is a cluster that can write its checkpoints, or none
    at all."""
    known = tuple(clusters)
    if job.spec.program.builtin is None or not known:
        return None
    faults = [f"{cluster.id}: {cluster.storage_fault}" for cluster in known if cluster.storage_fault is not None]
    return f"its checkpoints cannot be written; {'; '.join(faults)}" if len(faults) == len(known) else None
