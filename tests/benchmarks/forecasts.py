"""How good estimated starts are: asked at moments of simulated days, held against the starts that then came."""

from dataclasses import dataclass, field
from statistics import median

from orchestrator.changes import Changes
from orchestrator.domain.ids import JobId
from orchestrator.domain.lifecycle import JobState
from orchestrator.reconciler.desk import Desk
from orchestrator.reconciler.placing import snapshot_of
from orchestrator.scheduler.forecast import StartEstimate, forecast
from orchestrator.scheduler.policy import DEFAULT
from orchestrator.simulator.engine import Setup, simulate
from orchestrator.simulator.fleet import counting
from orchestrator.simulator.workload import Estimates
from orchestrator.world import World
from tests.benchmarks.traces import Case


@dataclass(frozen=True, slots=True)
class Score:
    """Of the jobs that had to wait."""

    asked: int
    error_share: float
    """Median of |forecast - start| / (start - when asked)."""
    error_s: float
    """Median of |forecast - start|."""
    in_range: float
    """Share of the starts that lay within the forecast's range."""


@dataclass(slots=True)
class _Asker:
    """Asks once per job, as it arrives: at moments at which nothing else happens, so that the world is settled."""

    every: int
    told: dict[JobId, tuple[int, StartEstimate]] = field(default_factory=dict)
    moments: int = 0

    def __call__(self, world: World, changes: Changes) -> None:
        waiting = [job for job in world.jobs if job.state is JobState.QUEUED]
        new = [job.id for job in waiting if job.created_at_ms == world.now_ms]
        started = {change.job.id for change in changes.jobs if change.started is not None}
        if world.facts or not new or set(new) & started:
            return
        self.moments += 1
        if self.moments % self.every == 0:
            ahead = snapshot_of(Desk(world), DEFAULT)
            self.told |= {id: (world.now_ms, found) for id, found in forecast(ahead, of=new).items()}


def score(case: Case, estimates: Estimates, every: int = 1) -> Score:
    """Ask for each `every`-th job that has to wait, at its submission."""
    asker = _Asker(every)
    outcome = simulate(Setup(case.jobs, counting(case.chips), DEFAULT, estimates), asker)
    errors, shares, hits = [], [], 0
    for job_id, (asked_ms, told) in asker.told.items():
        start_ms = outcome.jobs[job_id].first_start_ms
        if start_ms is None:
            continue
        errors.append(abs(told.at_ms - start_ms) / 1000)
        shares.append(abs(told.at_ms - start_ms) / max(1, start_ms - asked_ms))
        hits += told.earliest_ms <= start_ms <= told.latest_ms
    return Score(len(errors), median(shares), median(errors), hits / len(errors))


def ratios(case: Case, estimates: Estimates, every: int = 1) -> list[float]:
    """Real wait over forecast wait, ascending: what the range's shares are taken from."""
    asker = _Asker(every)
    outcome = simulate(Setup(case.jobs, counting(case.chips), DEFAULT, estimates), asker)
    pairs = ((outcome.jobs[id].first_start_ms, asked, told.at_ms) for id, (asked, told) in asker.told.items())
    return sorted((start - asked) / max(1, at - asked) for start, asked, at in pairs if start is not None)
