"""The desk on which one tick works: drafts of the world's rows, changed as decisions fall, then made into Changes.

Mutable, but local to one call of `decide`: nobody sees it before `changes()`.
"""

from collections.abc import Iterator
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

    @property
    def live(self) -> Attempt | None:
        if self.started is not None:
            return self.started
        return self.attempt if self.attempt is not None and self.attempt.live else None

    @property
    def touched(self) -> bool:
        """Whether anything but the words about why it waits has changed."""
        worded = replace(self.job, message=self.seen.message)
        return bool(
            worded != self.seen or self.started or self.attempt != self.attempt_seen or self.facts or self.events
        )

    def change(self) -> JobChange:
        return JobChange(
            seen_version=self.seen.version,
            job=replace(self.job, version=self.seen.version + 1),
            started=self.started,
            attempt=self.attempt if self.attempt != self.attempt_seen else None,
            ranks=tuple(self.ranks),
            events=tuple(self.events),
            folded=tuple(self.facts),
        )


@dataclass(slots=True)
class SliceDraft:
    """One slice as it shall be."""

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
        self._slices_seen = {s.id: s for s in world.slices}
        self._slices = {s.id: SliceDraft(s) for s in world.slices}
        self._ignored: list[int] = []

    def drafts(self) -> Iterator[JobDraft]:
        """Of the jobs that are not terminal by now, oldest first."""
        return (draft for draft in self._drafts.values() if draft.job.state not in TERMINAL)

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

    def slices(self) -> tuple[Slice, ...]:
        return tuple(draft.slice for draft in self._slices.values())

    def slice(self, slice_id: SliceId) -> Slice | None:
        draft = self._slices.get(slice_id)
        return None if draft is None else draft.slice

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
        draft = self._slices.setdefault(changed.id, SliceDraft(changed))
        before, draft.slice = self._slices_seen.get(changed.id), changed
        if before is None or (before.state, before.incarnation) != (changed.state, changed.incarnation):
            kind = "slice.up" if changed.state is SliceState.UP else "slice.down"
            draft.events = [Event(kind, self.world.now_ms, message, slice_id=changed.id)]
        if fact is not None:
            draft.facts.append(fact)

    def ignore(self, fact: int) -> None:
        """A fact that changes nothing any more."""
        self._ignored.append(fact)

    def changes(self, due_at_ms: int | None) -> Changes:
        """Everything that differs from the world."""
        waits = tuple(
            (draft.job.id, draft.job.message)
            for draft in self._drafts.values()
            if not draft.touched and draft.job.message != draft.seen.message
        )
        return Changes(
            jobs=tuple(draft.change() for draft in self._drafts.values() if draft.touched),
            slices=tuple(
                SliceChange(draft.slice, tuple(draft.events), tuple(draft.facts))
                for id, draft in self._slices.items()
                if draft.slice != self._slices_seen.get(id) or draft.facts
            ),
            ignored=tuple(self._ignored),
            waits=waits,
            due_at_ms=due_at_ms,
        )
