"""The loop of a simulation: the next moment at which something happens, the tick's own `decide`, and its effects.

Nothing here decides anything: facts and submissions go in, changes come out, exactly as between the store and the tick.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.changes import Changes, JobChange
from orchestrator.domain.endings import Budget, Reason
from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.domain.job import Attempt, Cluster, Job, Progress, Slice
from orchestrator.domain.lifecycle import TERMINAL, JobState
from orchestrator.domain.sharing import Likeness
from orchestrator.reconciler.decide import decide
from orchestrator.scheduler.estimate import likeness, remember
from orchestrator.scheduler.policy import DEFAULT, FairShare, Policy
from orchestrator.simulator.cluster import SimCluster
from orchestrator.simulator.faults import FaultModel, Loss
from orchestrator.simulator.fleet import CLUSTER, Fleet
from orchestrator.simulator.gang import Costs
from orchestrator.simulator.records import Outcome, Run
from orchestrator.simulator.submissions import submissions
from orchestrator.simulator.trace import TraceJob
from orchestrator.simulator.usage import UsageMeter
from orchestrator.simulator.workload import Estimates
from orchestrator.world import StoredFact, World

_EPOCH: Final = 1
COUNTING_ONLY: Final = Costs()
NO_FAULTS: Final = FaultModel()


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a simulation depends on: the same setup gives the same outcome."""

    jobs: tuple[TraceJob, ...]
    fleet: Fleet
    policy: Policy = DEFAULT
    estimates: Estimates = Estimates.EXACT
    costs: Costs = COUNTING_ONLY
    faults: FaultModel = NO_FAULTS
    losses: Mapping[SliceId, tuple[Loss, ...]] = field(default_factory=dict)
    """From a file, besides those of the model."""


Observe = Callable[[World, Changes], None]


def simulate(setup: Setup, observe: Observe | None = None) -> Outcome:
    """Run the trace to its end. `observe` sees every tick's input and output."""
    return _Simulation(setup).run(observe)


class _Simulation:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        asked = submissions(setup.jobs, setup.fleet.pools(), setup.estimates)
        self._arrivals = asked.arrivals
        self._followers = asked.followers
        self._awaited = asked.awaited
        self._ended_states: dict[str, JobState] = {}
        """Of those that others wait for."""
        self._outcome = Outcome(
            asked.records, tuple(known.id for known in setup.fleet.slices), setup.fleet.chips, unfit=asked.unfit
        )
        self._slices: dict[SliceId, Slice] = {known.id: known for known in setup.fleet.slices}
        self._cluster = SimCluster(asked.work, setup.costs, setup.faults, dict(self._slices))
        for known in setup.fleet.slices:
            self._cluster.expect(setup.faults.losses(known))
            self._cluster.expect(iter(setup.losses.get(known.id, ())))
        self._open: dict[JobId, Job] = {}
        self._live: dict[JobId, Attempt] = {}
        self._history: dict[Likeness, tuple[int, ...]] = {}
        self._usage = UsageMeter(setup.fleet.projects, setup.policy.usage_half_life_ms)
        self._rows = itertools.count(1)
        self._ids = itertools.count(1)

    def run(self, observe: Observe | None) -> Outcome:
        due_ms: int | None = None
        while self._arrivals or self._open:
            submit_ms = self._arrivals[0][0] if self._arrivals else None
            moments = (due_ms, submit_ms, self._cluster.next_ms())
            now_ms = min((at for at in moments if at is not None), default=None)
            if now_ms is None:
                break  # what is left can never run
            while self._arrivals and self._arrivals[0][0] <= now_ms:
                _, _, coming = heapq.heappop(self._arrivals)
                self._open[coming.id] = coming
            world = self._world(now_ms)
            changes = decide(world, self._new_id, self._setup.policy)
            if observe is not None:
                observe(world, changes)
            self._apply(changes, now_ms)
            self._outcome.ticks += 1
            due_ms = changes.due_at_ms
        self._outcome.lost_chip_ms = self._cluster.lost_chip_ms
        return self._outcome

    def _world(self, now_ms: int) -> World:
        self._usage.advance(now_ms)
        setup = self._setup
        shared = setup.policy.fair_share is not FairShare.OFF or setup.fleet.quotas
        facts = tuple(StoredFact(next(self._rows), CLUSTER, "simulated", body) for body in self._cluster.facts(now_ms))
        return World(
            now_ms=now_ms,
            epoch=_EPOCH,
            jobs=tuple(self._open.values()),
            attempts=tuple(self._live.values()),
            progress=_Reports(self._cluster, now_ms),
            slices=tuple(self._slices.values()),
            clusters=(Cluster(CLUSTER, now_ms),),
            facts=facts,
            projects=self._usage.projects() if shared else {},
            history=self._history,
            quotas=setup.fleet.quotas,
            windows=setup.fleet.windows,
            ended=self._ended_states,
        )

    def _apply(self, changes: Changes, now_ms: int) -> None:
        for changed in changes.slices:
            self._slices[changed.slice.id] = changed.slice
        for change in changes.jobs:
            if change.attempt is not None and not change.attempt.live:
                self._ended(change.attempt, now_ms)
        for change in changes.jobs:
            self._moved(change, now_ms)

    def _moved(self, change: JobChange, now_ms: int) -> None:
        job = change.job
        record = self._outcome.jobs[job.id]
        if change.attempt is not None and change.attempt.live:
            self._live[job.id] = change.attempt
            self._cluster.stop(change.attempt, now_ms)
        if change.started is not None:
            self._live[job.id] = change.started
            self._usage.hold(job.spec.project, change.started.chips)
            self._cluster.start(change.started)
            record.first_start_ms = now_ms if record.first_start_ms is None else record.first_start_ms
        record.state = job.state
        record.preemptions = job.charges.of(Budget.PREEMPTIONS)
        record.evictions = job.evictions
        if job.state not in TERMINAL:
            self._open[job.id] = job
            return
        del self._open[job.id]
        record.end_ms = now_ms
        self._let_follow(job)
        if job.state is JobState.SUCCEEDED:
            remember(self._history, likeness(job.spec), record.held_ms)

    def _let_follow(self, ended: Job) -> None:
        """Those who waited for the job's end come, after they have thought about it."""
        record = self._outcome.jobs[ended.id]
        if ended.id in self._awaited:
            self._ended_states[ended.id] = ended.state
        for think_ms, tie, job in self._followers.pop(ended.id, ()):
            at_ms = max(job.created_at_ms, (record.end_ms or 0) + think_ms)
            self._outcome.jobs[job.id].submit_ms = at_ms
            heapq.heappush(self._arrivals, (at_ms, tie, replace(job, created_at_ms=at_ms, queued_at_ms=at_ms)))

    def _ended(self, attempt: Attempt, now_ms: int) -> None:
        del self._live[attempt.job_id]
        record, project = self._outcome.jobs[attempt.job_id], self._open[attempt.job_id].spec.project
        self._usage.hold(project, -attempt.chips)
        reason = attempt.reason or Reason.COMPLETED
        record.held_ms += now_ms - attempt.ordered_at_ms
        record.resizes += reason is Reason.RESIZED
        self._outcome.runs.append(
            Run(attempt.job_id, record.user, attempt.slices, attempt.chips, attempt.ordered_at_ms, now_ms, reason)
        )

    def _new_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self._ids)}"


class _Reports(Mapping[AttemptId, Progress]):
    """The progress of live attempts, worked out when somebody asks."""

    def __init__(self, cluster: SimCluster, now_ms: int) -> None:
        self._cluster = cluster
        self._now_ms = now_ms

    def __getitem__(self, attempt_id: AttemptId) -> Progress:
        found = self._cluster.progress(attempt_id, self._now_ms)
        if found is None:
            raise KeyError(attempt_id)
        return found

    def __iter__(self) -> Iterator[AttemptId]:
        return iter(self._cluster.gangs)

    def __len__(self) -> int:
        return len(self._cluster.gangs)
