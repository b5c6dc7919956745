"""Chaos: a day with many more faults, of every kind that a gang meets; what came of them is counted and summed up."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from orchestrator.domain.job import Attempt
from orchestrator.domain.lifecycle import TERMINAL
from orchestrator.domain.patience import Patience
from orchestrator.domain.spec import Program, RetryPolicy
from orchestrator.store.queries import jobs as job_queries
from orchestrator.store.queries import metrics as metric_queries
from orchestrator.store.queries import reports as report_queries
from tests.builders import a_spec
from tests.fakes.faults import ENDS_AT_ONCE
from tests.simulation.day import Day

LONGEST_CUT_MS = 60_000


@dataclass(slots=True)
class Outcome:
    """What a day of chaos came to. All but the faults and the times must be empty."""

    faults: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    attempts: int = 0
    lost_jobs: list[str] = field(default_factory=list)
    doubled_runs: list[str] = field(default_factory=list)
    lost_steps: list[str] = field(default_factory=list)
    wrong_causes: list[str] = field(default_factory=list)
    detect_ms: list[int] = field(default_factory=list)
    resume_ms: list[int] = field(default_factory=list)

    def summary(self) -> str:
        """For people: `make test` prints it."""
        kinds = "\n".join(f"  {count:5}  {kind}" for kind, count in sorted(self.faults.items(), key=lambda x: -x[1]))
        return (
            f"chaos: {sum(self.faults.values())} faults, {self.jobs} jobs, {self.attempts} attempts\n{kinds}\n"
            f"  jobs lost {len(self.lost_jobs)}, runs doubled {len(self.doubled_runs)}, "
            f"committed steps lost {len(self.lost_steps)}, wrong root causes {len(self.wrong_causes)}\n"
            f"  time to detect, virtual: {_figures(self.detect_ms)}; to resume: {_figures(self.resume_ms)}"
        )


class Chaos(Day):
    """The network between slices and control plane may be cut for up to a minute; gangs fail in every way there is."""

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(seed, folder)
        self._cut_until = 0

    def _possible(self) -> tuple[tuple[Callable[[], object], float], ...]:
        return (
            (self._submit, 0.35),
            (self._cancel, 0.03),
            (self._lose_host, 0.05),
            (self._replace_slice, 0.8),
            (self._strike, 0.9),
            (self._freeze, 0.15),
            (self._cut_network, 0.02),
            (self._restart_cluster_process, 0.04),
            (self._restart_control_plane, 0.04),
        )

    async def _submit(self) -> None:
        spec = a_spec(
            program=Program(command=self.rng.choice((("sleep", "25"), ("sleep", "60"), ("true",)))),
            slices=self.rng.choice(["v5e:2x4", "v5e:4x4", ("v5e:4x4", "v5e:2x4")]),
            priority=self.rng.choice(["batch", "normal/0", "production"]),
            retry=RetryPolicy(failures=20, stalls=20, infra=50, without_progress=50),
            patience=Patience(step="20s"),
        )
        self.submitted.append(await self.control.submit(spec, self.now))

    async def _talk(self, troubled: bool) -> None:
        if self.now >= self._cut_until:
            await super()._talk(troubled)

    def _cut_network(self) -> None:
        if self.now >= self._cut_until:
            self._cut_until = self.now + self.rng.randrange(1_000, LONGEST_CUT_MS)
            self.faults["network cut"] += 1

    def _strike(self) -> None:
        kind = self.rng.choice(sorted(ENDS_AT_ONCE))
        slice_id = self.rng.choice(sorted(self.cluster.slices))
        leaves = kind == "notice"
        self.faults[kind] += self.cluster.strike(slice_id, ENDS_AT_ONCE[kind], self.now, self.rng, leaves=leaves)

    def _freeze(self) -> None:
        slice_id = self.rng.choice(sorted(self.cluster.slices))
        self.faults["hang"] += self.cluster.freeze(slice_id, self.now, self.rng)

    async def outcome(self, into: Outcome) -> None:
        """Count what came of the day. The control plane is opened once more, as after a crash."""
        into.faults += self.faults
        into.doubled_runs += [f"{start}" for start, times in Counter(self.cluster.starts).items() if times > 1]
        async with self.control.database.read() as tx:
            for job_id in self.submitted:
                job = await job_queries.find(tx, job_id)
                found = await job_queries.attempts_of(tx, job_id)
                into.jobs += 1
                into.attempts += len(found)
                if job.state not in TERMINAL:
                    into.lost_jobs.append(f"{job_id} is {job.state}: {job.message}")
                into.wrong_causes += filter(None, map(self._wrong_cause, found))
                into.detect_ms += [a.cause.card.detect_ms or 0 for a in found if a.cause and a.cause.card]
                into.resume_ms += _resumed_after(found)
                resumed = await metric_queries.resumed_steps(tx, job_id)
                commits = [(c.attempt, c.step) for c in await report_queries.checkpoints_of(tx, job_id)]
                for number, step in resumed.items():
                    before = max((s for n, s in commits if n < number), default=0)
                    if step < before:
                        into.lost_steps.append(f"{job_id}/{number} went on from {step}, and {before} was committed")

    def _wrong_cause(self, attempt: Attempt) -> str | None:
        truth = self.cluster.truth.get(attempt.id)
        if truth is None or attempt.cause is None:
            return None
        told = (attempt.cause.reason, attempt.cause.rank)
        return None if told == truth else f"{attempt.id}: told {told}, was {truth}"


def _resumed_after(attempts: Iterable[Attempt]) -> list[int]:
    """From the detection of each end to the moment at which the next attempt's ranks all ran."""
    return [
        after.ready_at_ms - before.detected_at_ms
        for before, after in pairwise(attempts)
        if after.ready_at_ms is not None and before.detected_at_ms is not None
    ]


def _figures(found: list[int]) -> str:
    if len(found) < 2:
        return "too few"
    p95 = statistics.quantiles(found, n=20)[-1]
    return f"median {statistics.median(found) / 1000:.1f} s, p95 {p95 / 1000:.1f} s ({len(found)})"
