"""What one tick sees: rows as they were read in one transaction, and the facts that arrived since the last tick."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.domain.ids import AttemptId, ClusterId
from orchestrator.domain.job import Attempt, Cluster, Job, Progress, Slice
from orchestrator.protocol import FactBody


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact that is committed to SQL and not yet taken in. Row ids give the order of arrival."""

    row_id: int
    cluster_id: ClusterId
    source: str
    body: FactBody


@dataclass(frozen=True, slots=True)
class World:
    """The input of `reconciler.decide`."""

    now_ms: int
    epoch: int
    """Of the leader that ticks."""
    jobs: tuple[Job, ...]
    """All that are not terminal, oldest first."""
    attempts: tuple[Attempt, ...]
    """All live ones."""
    progress: Mapping[AttemptId, Progress]
    """Of the live attempts."""
    slices: tuple[Slice, ...]
    clusters: tuple[Cluster, ...]
    facts: tuple[StoredFact, ...]
