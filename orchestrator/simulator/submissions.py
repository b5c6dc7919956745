"""A trace's jobs as they will be submitted: who comes when, who waits for whom, and what each has to do."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.domain.gates import NO_DEPENDENCIES, Dependencies, Dependency, On
from orchestrator.domain.ids import ArrayId, JobId
from orchestrator.domain.job import ArrayPlace, Desired, Job
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.spec import JobSpec
from orchestrator.simulator.cluster import Work
from orchestrator.simulator.records import JobRecord
from orchestrator.simulator.trace import TraceJob
from orchestrator.simulator.workload import Estimates, Pools, spec_of


@dataclass(slots=True)
class Submissions:
    """All jobs of a trace that fit the fleet."""

    arrivals: list[tuple[int, int, Job]] = field(default_factory=list)
    """(when, tie, job), in order: a heap."""
    followers: defaultdict[JobId, list[tuple[int, int, Job]]] = field(default_factory=lambda: defaultdict(list))
    """By the job whose end they wait for: (think time, tie, job) of those that are submitted only after it."""
    awaited: set[JobId] = field(default_factory=set)
    """Jobs that blocked ones wait for."""
    records: dict[JobId, JobRecord] = field(default_factory=dict)
    work: dict[JobId, Work] = field(default_factory=dict)
    unfit: int = 0


def submissions(traced: Sequence[TraceJob], pools: Pools, estimates: Estimates) -> Submissions:
    """Of a trace on a fleet. A job that waits for one which is not in the trace, or does not fit, waits for nobody."""
    found = Submissions()
    ids = {job.id: _id(number) for number, job in enumerate(traced)}
    fitting = {job.id for job in traced if spec_of(job, pools, estimates) is not None}
    places: Counter[str] = Counter()
    for tie, job in enumerate(traced):
        before = ids[job.after] if job.after in fitting and job.after != job.id else None
        waits = before is not None and job.think_ms == 0
        after = Dependencies(all=(Dependency(before, On.END),)) if waits and before else NO_DEPENDENCIES
        spec = spec_of(job, pools, estimates, after)
        if spec is None:
            found.unfit += 1
            continue
        made = _job(_id(tie), job, spec, places)
        chips = max(choice.chips for choice in spec.choices) if job.slices else job.chips
        found.records[made.id] = JobRecord(made.id, spec.project, chips, job.submit_ms, job.duration_ms)
        found.work[made.id] = Work(job.duration_ms, max(choice.count for choice in spec.choices))
        if before is not None and not waits:
            found.followers[before].append((job.think_ms, tie, made))
        else:
            found.arrivals.append((job.submit_ms, tie, made))
        if waits and before is not None:
            found.awaited.add(before)
    found.arrivals.sort(key=lambda arrival: arrival[:2])
    return found


def _id(number: int) -> JobId:
    return JobId(f"job_{number:06d}")


def _job(id: JobId, traced: TraceJob, spec: JobSpec, places: Counter[str]) -> Job:
    array = None
    if traced.array is not None:
        array = ArrayPlace(ArrayId(traced.array), places[traced.array], traced.at_once)
        places[traced.array] += 1
    state = JobState.BLOCKED if spec.after.each or array else JobState.QUEUED
    at_ms = traced.submit_ms
    return Job(id, spec, state, Desired.RUN, 1, created_at_ms=at_ms, queued_at_ms=at_ms, array=array)
