"""Small simulated days, told by their jobs; and what has to hold at every tick of any day."""

from dataclasses import dataclass, field
from typing import Any

from orchestrator.changes import Changes
from orchestrator.domain.lifecycle import TERMINAL, JobState
from orchestrator.domain.topology import SliceShape
from orchestrator.simulator.engine import Setup, simulate
from orchestrator.simulator.fleet import Fleet, counting
from orchestrator.simulator.records import Outcome
from orchestrator.simulator.trace import TraceJob
from orchestrator.world import World


def a_traced(id="1", at=0, chips=1, runs=100, user="ann", **fields: Any) -> TraceJob:
    """A job that is submitted at second `at` and runs so many seconds."""
    return TraceJob(id, at * 1000, chips, runs * 1000, user, **fields)


def a_day(*jobs: TraceJob, fleet: Fleet | int = 1, observe: Any = None, **fields: Any) -> Outcome:
    given = counting(fleet) if isinstance(fleet, int) else fleet
    return simulate(Setup(jobs, given, **fields), observe)


def ends(outcome: Outcome) -> list[float]:
    """When each job ended, in seconds, in the trace's order."""
    return [(job.end_ms or 0) / 1000 for job in outcome.jobs.values()]


@dataclass
class Invariants:
    """Watches a simulation: breaks at the first tick that does what must never be done."""

    fleet: Fleet
    over: set[str] = field(default_factory=set)
    ticks: int = 0

    def __call__(self, world: World, changes: Changes) -> None:
        self.ticks += 1
        shapes = {s.id: s.shape for s in world.slices}
        live = {attempt.job_id: attempt for attempt in world.attempts}
        states = {job.id: job for job in world.jobs}
        for change in changes.jobs:
            job = change.job
            assert job.id not in self.over, "a job that had ended moved"
            states[job.id] = job
            if change.attempt is not None and not change.attempt.live:
                live.pop(job.id, None)
            if change.started is not None:
                assert job.id not in live, "two live attempts of one job"
                live[job.id] = change.started
                self._gang_is_whole(change.started, job, shapes)
            if job.state in TERMINAL:
                self.over.add(job.id)
        held = [slice_id for attempt in live.values() for slice_id in attempt.slices]
        assert len(held) == len(set(held)), "a slice is used twice"
        for job_id, job in states.items():
            holds = job.state in (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
            assert holds == (job_id in live), f"{job_id} is {job.state}"
        self._quotas_are_kept(live, states, shapes)

    def _gang_is_whole(self, started: Any, job: Any, shapes: dict[Any, SliceShape]) -> None:
        got = {shapes[slice_id] for slice_id in started.slices}
        assert len(got) == 1
        assert (len(started.slices), got.pop()) in {(c.count, c.shape) for c in job.spec.choices}

    def _quotas_are_kept(self, live: Any, states: Any, shapes: dict[Any, SliceShape]) -> None:
        for quota in self.fleet.quotas:
            members = {quota.owner} | {p.name for p in self.fleet.projects.values() if quota.owner in p.parents}
            used = sum(a.chips for job_id, a in live.items() if states[job_id].spec.project in members)
            assert quota.limit_chips is None or quota.pool is not None or used <= quota.limit_chips
