"""What one tick sees: rows as they were read in one transaction, and the facts that arrived since the last tick."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.domain.ids import AttemptId, ClusterId, SliceId
from orchestrator.domain.job import Attempt, Cluster, Job, Progress, Slice
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.sharing import Health, Likeness, Project, Quota, Window
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
    projects: Mapping[str, Project] = field(default_factory=dict)
    """What each project used lately, up to now, decayed by the policy's half-life."""
    history: Mapping[Likeness, tuple[int, ...]] = field(default_factory=dict)
    """How long like jobs ran, ms, newest last."""
    quotas: tuple[Quota, ...] = ()
    windows: Mapping[SliceId, tuple[Window, ...]] = field(default_factory=dict)
    health: Mapping[SliceId, Health] = field(default_factory=dict)
    """Of the slices that are not sound."""
    draining: frozenset[SliceId] = frozenset()
    """Whose gangs shall go on elsewhere."""
    ended: Mapping[str, JobState] = field(default_factory=dict)
    """Where the jobs are that blocked jobs wait for and that have ended."""
