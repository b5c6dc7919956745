"""The desk on which one tick works: drafts of the world's rows, changed as decisions fall, then made into Changes.

Mutable, but local to one call of `decide`: nobody sees it before `changes()`.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from orchestrator.changes import Changes, JobChange, SliceChange
from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.domain.job import Attempt, Event, Job, Progress, RankStarted, Slice, SliceState
from orchestrator.domain.lifecycle import TERMINAL, JobEvent, JobState, advance
from orchestrator.world import World


@dataclass(slots=True)
class JobDraft:
    """One job as it was read and as it shall be."""

    seen: Job
    job: Job
    attempt_seen: Attempt | None
    attempt: Attempt | None
    """The attempt that was live when the tick began, as it shall be; it may have ended by now."""
    started: Attempt | None = None
    ranks: list[RankStarted] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    facts: list[int] = field(default_factory=list)
    aside: bool = False
    """Nothing more is decided about it in this tick."""

    @property
    def live(self) -> Attempt | None:
        if self.started is not None:
            return self.started
        return self.attempt if self.attempt is not None and self.attempt.live else None

    @property
    def touched(self) -> bool:
        """Whether anything has changed; why it waits is kept apart."""
        if self.started or self.facts or self.events or self.attempt is not self.attempt_seen:
            return True
        return self.job is not self.seen and self.job != self.seen

    def change(self, waits: str | None) -> JobChange:
        """All that changes about the job; `waits` says why it does not run, if it waits."""
        message = self.job.message if waits is None else waits
        return JobChange(
            seen_version=self.seen.version,
            job=replace(self.job, version=self.seen.version + 1, message=message),
            started=self.started,
            attempt=self.attempt if self.attempt != self.attempt_seen else None,
            ranks=tuple(self.ranks),
            events=tuple(self.events),
            folded=tuple(self.facts),
        )


@dataclass(slots=True)
class SliceDraft:
    """One slice as it was read, if it was known, and as it shall be."""

    seen: Slice | None
    slice: Slice
    events: list[Event] = field(default_factory=list)
    facts: list[int] = field(default_factory=list)


class Desk:
    """Working copies of one tick."""

    def __init__(self, world: World) -> None:
        self.world = world
        live = {attempt.job_id: attempt for attempt in world.attempts}
        self._drafts = {job.id: JobDraft(job, job, live.get(job.id), live.get(job.id)) for job in world.jobs}
        self._of_attempt = {attempt.id: attempt.job_id for attempt in world.attempts}
        self._slices = {s.id: s for s in world.slices}
        self._changed: dict[SliceId, SliceDraft] = {}
        self._ignored: list[int] = []
        self._waits: dict[JobId, str] = {}
        self._defects: list[str] = []

    def drafts(self) -> Iterator[JobDraft]:
        """Of the jobs that are not terminal by now, oldest first."""
        return (d for d in self._drafts.values() if d.job.state not in TERMINAL and not d.aside)

    def states(self) -> dict[str, JobState]:
        """Where all jobs are that were not terminal when the tick began."""
        return {draft.job.id: draft.job.state for draft in self._drafts.values()}

    def draft(self, job_id: JobId) -> JobDraft:
        return self._drafts[job_id]

    def draft_of(self, attempt_id: AttemptId) -> JobDraft | None:
        """The job whose live attempt has that id; None if the attempt has ended, or never was."""
        draft = self._drafts.get(self._of_attempt.get(attempt_id, JobId("")))
        return draft if draft is not None and draft.attempt is not None and draft.attempt.live else None

    def progress(self, attempt_id: AttemptId) -> Progress:
        return self.world.progress.get(attempt_id, Progress(attempt_id))

    def slices(self) -> Collection[Slice]:
        return self._slices.values()

    def slice(self, slice_id: SliceId) -> Slice | None:
        return self._slices.get(slice_id)

    def held_slices(self) -> frozenset[SliceId]:
        """Slices of live attempts."""
        live = (draft.live for draft in self._drafts.values())
        return frozenset(slice_id for attempt in live if attempt is not None for slice_id in attempt.slices)

    def move(self, draft: JobDraft, event: JobEvent, message: str) -> None:
        """Advance the job's state by the table and record the edge."""
        was, job = draft.job.state, draft.job
        draft.job = replace(job, state=advance(was, event))
        attempt = draft.started or draft.attempt
        data = (("from", was.value), ("to", draft.job.state.value), ("reason", draft.job.reason))
        attempt_id = None if attempt is None else attempt.id
        draft.events.append(Event("job.state", self.world.now_ms, message, job.id, attempt_id, data=data))

    def put_slice(self, changed: Slice, message: str, fact: int | None = None) -> None:
        """Take in what is now known about a slice; an event says so when its state or incarnation changed."""
        draft = self._changed.get(changed.id)
        if draft is None:
            draft = self._changed[changed.id] = SliceDraft(self._slices.get(changed.id), changed)
        draft.slice = self._slices[changed.id] = changed
        before = draft.seen
        if before is None or (before.state, before.incarnation) != (changed.state, changed.incarnation):
            kind = "slice.up" if changed.state is SliceState.UP else "slice.down"
            draft.events = [Event(kind, self.world.now_ms, message, slice_id=changed.id)]
        if fact is not None:
            draft.facts.append(fact)

    def set_aside(self, draft: JobDraft, why: Exception) -> None:
        """Leave a job as it was read: a defect in our rules about one job must not stop the others."""
        spoilt = draft.job.id
        self._drafts[spoilt] = JobDraft(draft.seen, draft.seen, draft.attempt_seen, draft.attempt_seen, aside=True)
        self._defects.append(f"{spoilt}: {type(why).__name__}: {why}")

    def explain(self, job_id: JobId, says: str) -> None:
        """Why a job that waits does not run."""
        self._waits[job_id] = says

    def ignore(self, fact: int) -> None:
        """A fact that changes nothing any more."""
        self._ignored.append(fact)

    def changes(self, due_at_ms: int | None) -> Changes:
        """Everything that differs from the world."""
        touched = {id for id, draft in self._drafts.items() if draft.touched}
        waits = tuple(
            (job_id, says)
            for job_id, says in self._waits.items()
            if job_id not in touched and says != self._drafts[job_id].seen.message
        )
        return Changes(
            jobs=tuple(self._drafts[id].change(self._waits.get(id)) for id in self._drafts if id in touched),
            slices=tuple(
                SliceChange(draft.slice, tuple(draft.events), tuple(draft.facts))
                for draft in self._changed.values()
                if draft.slice != draft.seen or draft.facts
            ),
            ignored=tuple(self._ignored),
            waits=waits,
            due_at_ms=due_at_ms,
            defects=tuple(self._defects),
        )
