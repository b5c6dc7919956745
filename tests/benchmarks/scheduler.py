"""The scheduler's figures: one JSON line each. `make bench FIGURE=scheduler`; some minutes on two cores.

Traces come from the folder in PODWRIGHT_TRACES, by default ../shared/traces. Everything is counting-only (a job of c
chips takes c of the fleet's one-chip slices) with exact estimates, unless a figure says otherwise.
"""

import sys
from collections.abc import Iterator

from orchestrator.simulator.workload import Estimates
from tests.benchmarks import planning
from tests.benchmarks.figure import Figure, at_most, within
from tests.benchmarks.forecasts import score
from tests.benchmarks.traces import CASES, HPC2N, NASA, POLLUX, SHOCKWAVE, SHOCKWAVE_WHOLE, Case, summary

REFERENCE = {
    (NASA, "fifo"): 173_142,
    (NASA, "easy"): 10_269,
    (HPC2N, "fifo"): 15_716,
    (HPC2N, "easy"): 13_476,
    (POLLUX[5], "fifo"): 14_248,
    (POLLUX[5], "easy"): 8_707,
    (SHOCKWAVE, "fifo"): 9_223,
    (SHOCKWAVE, "easy"): 9_089,
}
"""Mean completion, s, of an independent implementation."""

PUBLISHED = {"Themis": (11_302, 3.44), "Gavel": (11_274, 2.95)}
"""Mean completion, s, and worst finish-time ratio on the Shockwave trace (Zheng et al., NSDI 2023)."""
SWITCH_MS = 20_000


def figures() -> Iterator[Figure]:
    yield from planning.figures()
    for case in CASES:
        yield from _against_easy(case)
    yield from _users_own_estimates()
    yield from _against_published()
    yield from _frontier()
    yield from _forecasts()
    for (case, policy), wanted in REFERENCE.items():
        mean = summary(case, policy).completion_s.mean
        yield within(f"reference/{case.name}/{policy}", mean, wanted, 0.01, "s", "mean completion")


def _against_easy(case: Case) -> Iterator[Figure]:
    ours, easy = summary(case, "default"), summary(case, "easy")
    share = ours.completion_s.mean / easy.completion_s.mean
    limit = 0.75 if case is NASA else 1.0
    how = f"mean completion {ours.completion_s.mean:,.0f} s with fair share, EASY {easy.completion_s.mean:,.0f} s"
    yield at_most(f"completion against EASY/{case.name}", share, limit, "times", how)
    how = "p99 of the bounded slowdown (10 s), limit: EASY's"
    yield at_most(f"slowdown/{case.name}", ours.bounded_slowdown.p99, easy.bounded_slowdown.p99, "times", how)


def _users_own_estimates() -> Iterator[Figure]:
    for against in (Estimates.USER, Estimates.EXACT):
        ours, easy = summary(HPC2N, "default", Estimates.USER), summary(HPC2N, "easy", against)
        how = f"mean completion with users' estimates, limit: EASY's with {against} ones"
        limit = easy.completion_s.mean
        yield at_most(f"users' estimates/hpc2n against EASY {against}", ours.completion_s.mean, limit, "s", how)


def _against_published() -> Iterator[Figure]:
    completion, ratio = (min(values) for values in zip(*PUBLISHED.values(), strict=True))
    for case in (SHOCKWAVE, SHOCKWAVE_WHOLE):
        ours = summary(case, "default", start_ms=SWITCH_MS)
        how = (
            "120 s minimum run, 20 s before each gang's first step; limit: the better of Themis and Gavel, as published"
        )
        yield at_most(f"published/{case.name}/completion", ours.completion_s.mean, completion, "s", how)
        worst = ours.finish_of_trace.worst
        yield at_most(
            f"published/{case.name}/worst finish-time ratio", worst, ratio, "times", f"{how}; the authors' N / chips"
        )
        worst = ours.finish_of_jobs.worst
        yield at_most(
            f"published/{case.name}/worst ratio, jobs present", worst, ratio, "times", f"{how}; stricter: jobs present"
        )


def _frontier() -> Iterator[Figure]:
    """What fair share costs and gives, for the choice of the default."""
    for case in (NASA, *POLLUX):
        for policy in ("slowdown", "default", "share-first"):
            found = summary(case, policy)
            users = found.finish_of_users
            how = (
                f"mean completion; p99 slowdown {found.bounded_slowdown.p99:,.0f}, Jain {found.jain:.2f}, "
                f"finish-time ratio of users worst {users.worst:,.0f} mean {users.mean:,.1f}"
            )
            yield Figure(f"frontier/{case.name}/{policy}", found.completion_s.mean, "s", "for comparison", True, how)


def _forecasts() -> Iterator[Figure]:
    for case, every in ((POLLUX[5], 1), (SHOCKWAVE, 1), (HPC2N, 4)):
        for estimates in Estimates:
            if estimates is Estimates.USER and case is not HPC2N:
                continue
            found = score(case, estimates, every)
            how = (
                f"median of |forecast - start| / wait; {found.error_s:,.0f} s; "
                f"{found.in_range:.0%} of {found.asked} starts in the range"
            )
            yield Figure(f"forecast/{case.name}/{estimates}", found.error_share, "of the wait", "printed", True, how)


def main() -> None:
    missed = 0
    for figure in figures():
        missed += not figure.met
        print(figure.line(), flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
