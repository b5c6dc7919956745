"""The public traces of the scheduler's figures, and a memory of what was simulated: a day of jobs is run once only."""

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from orchestrator.scheduler.policy import POLICIES, Policy
from orchestrator.simulator.engine import Setup, simulate
from orchestrator.simulator.fleet import counting
from orchestrator.simulator.gang import Costs
from orchestrator.simulator.metrics import Summary, summarise
from orchestrator.simulator.trace import TraceJob, read_trace
from orchestrator.simulator.workload import Estimates

TRACES: Final = Path(os.environ.get("PODWRIGHT_TRACES", Path(__file__).parents[2].parent / "shared" / "traces"))


@dataclass(frozen=True, slots=True)
class Case:
    """One trace on so many chips."""

    name: str
    file: str
    chips: int
    workload: str | None = None

    @property
    def jobs(self) -> tuple[TraceJob, ...]:
        return read_trace(TRACES / self.file, self.workload)


NASA: Final = Case("nasa at 64", "nasa_ipsc_1993.csv", 64)
HPC2N: Final = Case("hpc2n at 240", "hpc2n_alea_head.csv", 240)
SHOCKWAVE: Final = Case("shockwave_32 actualwork at 32", "shockwave_32gpu_120jobs_actualwork.csv", 32)
SHOCKWAVE_WHOLE: Final = Case("shockwave_32 at 32", "shockwave_32gpu_120jobs.csv", 32)
POLLUX: Final = tuple(Case(f"pollux_w1x workload {n} at 64", "pollux_w1x.csv", 64, str(n)) for n in range(1, 9))
CASES: Final = (
    *POLLUX,
    SHOCKWAVE,
    SHOCKWAVE_WHOLE,
    Case("shockwave_64 at 64", "shockwave_64gpu_220jobs.csv", 64),
    Case("tiresias at 64", "tiresias_60job.csv", 64),
    HPC2N,
    NASA,
)


@lru_cache(maxsize=256)
def summary(case: Case, policy: str | Policy, estimates: Estimates = Estimates.EXACT, start_ms: int = 0) -> Summary:
    """The figures of a case, counting-only."""
    chosen = POLICIES[policy] if isinstance(policy, str) else policy
    setup = Setup(case.jobs, counting(case.chips), chosen, estimates, Costs(start_ms=start_ms))
    return summarise(simulate(setup))


def variant(policy: str, **fields: object) -> Policy:
    return replace(POLICIES[policy], **fields)  # type: ignore[arg-type]
