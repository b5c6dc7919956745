"""All that can be told of the jobs that wait in one snapshot, in pieces: whoever asks may stop in between."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field

from orchestrator.domain.ids import JobId
from orchestrator.domain.outlook import Blocker, Outlook, StartEstimate, Way
from orchestrator.scheduler.fit import Misfit
from orchestrator.scheduler.forecast import MOST_STEPS, Step, foresee
from orchestrator.scheduler.gates import ArrayFull, Unfinished
from orchestrator.scheduler.plan import Plan, WaitReason, plan
from orchestrator.scheduler.snapshot import Snapshot
from orchestrator.scheduler.ways_out import ways_out
from orchestrator.scheduler.wishes import Wish


def blocker(reason: WaitReason) -> Blocker:
    """The reason as plain data."""
    match reason:
        case Misfit():
            needed = (("needed", reason.wants.count), ("needed_chips", reason.wants.chips))
            return Blocker(reason.kind.value, reason.says, needed + _numbers(reason))
        case Unfinished():
            return Blocker("unfinished", reason.says, (("jobs", len(reason.jobs)),))
        case ArrayFull():
            return Blocker("array_full", reason.says, _numbers(reason))
    return Blocker("over_limit", reason.says, _numbers(reason))


def _numbers(reason: WaitReason) -> tuple[tuple[str, int], ...]:
    return tuple((name, value) for name, value in asdict(reason).items() if isinstance(value, int))


@dataclass(slots=True)
class Survey:
    """Of one snapshot. Jobs that its plan starts at once are not among those that wait."""

    snapshot: Snapshot
    estimates: dict[JobId, StartEstimate] = field(default_factory=dict)
    _decided: Plan = field(init=False)
    _looked_until_ms: int | None = field(init=False)
    """None once everything that is running has been followed to its end."""

    def __post_init__(self) -> None:
        self._decided = plan(self.snapshot)
        self._looked_until_ms = self.snapshot.now_ms

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """Of the pools whose limits the snapshot names."""
        return self._decided.wishes

    @property
    def waiting(self) -> tuple[JobId, ...]:
        """In the order in which they are offered slices."""
        return tuple(wait.job_id for wait in self._decided.waits)

    def look_ahead(self, most_steps: int = MOST_STEPS) -> Iterator[Step]:
        """Estimate starts, one end of a gang after the other."""
        steps = 0
        for step in foresee(self.snapshot, most_steps):
            steps += 1
            self.estimates |= step.starts
            self._looked_until_ms = step.at_ms
            yield step
        if steps < most_steps:
            self._looked_until_ms = None

    def ways_out(self, job_id: JobId) -> tuple[Way, ...]:
        """What would start one job: about a dozen plans."""
        return tuple(Way(way.says, way.jobs) for way in ways_out(self.snapshot, job_id))

    def outlooks(self, ways: Mapping[JobId, tuple[int, tuple[Way, ...]]]) -> Iterator[Outlook]:
        """Of every job that waits, with the estimates found by now and the `ways` out, of which each tells when it was
        tried. Jobs of one kind share their blockers."""
        shared: dict[int, tuple[Blocker, ...]] = {}
        now_ms, waits = self.snapshot.now_ms, self._decided.waits
        for index, wait in enumerate(waits):
            if (blockers := shared.get(id(wait.reasons))) is None:
                blockers = shared[id(wait.reasons)] = tuple(map(blocker, wait.reasons))
            tried_at_ms, found = ways.get(wait.job_id, (None, ()))
            start = self.estimates.get(wait.job_id)
            yield Outlook(
                job_id=wait.job_id,
                at_ms=now_ms,
                place=index + 1,
                of=len(waits),
                blockers=blockers,
                start=start,
                not_before_ms=None if start is not None else self._looked_until_ms,
                ways=found,
                ways_at_ms=tried_at_ms,
            )
