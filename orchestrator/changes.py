"""Decisions as values. `reconciler.decide` makes them; `store.commands.apply` writes them, one savepoint per job."""

from dataclasses import dataclass

from orchestrator.domain.job import Attempt, Event, Job, RankStarted, Slice


@dataclass(frozen=True, slots=True)
class JobChange:
    """All that changes about one job in one tick. If its fence misses, all of it is dropped and its facts stay."""

    seen_version: int
    job: Job
    """The job as it shall be, `version` already raised."""
    started: Attempt | None = None
    """A new attempt, with its slices; the placement is refused if another live attempt holds one of them."""
    attempt: Attempt | None = None
    """The live attempt as it shall be."""
    ranks: tuple[RankStarted, ...] = ()
    events: tuple[Event, ...] = ()
    folded: tuple[int, ...] = ()
    """Row ids of the facts that this change takes in."""


@dataclass(frozen=True, slots=True)
class SliceChange:
    """What is now known about one slice."""

    slice: Slice
    events: tuple[Event, ...] = ()
    folded: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """The outcome of one tick."""

    jobs: tuple[JobChange, ...] = ()
    slices: tuple[SliceChange, ...] = ()
    ignored: tuple[int, ...] = ()
    """Facts that change nothing any more (of ended attempts, of older incarnations): taken in, without effect."""
    waits: tuple[tuple[str, str], ...] = ()
    """(job id, why it waits) for jobs whose reason changed and nothing else did."""
    due_at_ms: int | None = None
    """When time alone would change a decision; None: not before something happens."""
    defects: tuple[str, ...] = ()
    """What our own rules could not decide, in words: those jobs stay as they were, and so do their facts."""

    @property
    def empty(self) -> bool:
        return not (self.jobs or self.slices or self.ignored or self.waits)
