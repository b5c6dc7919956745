"""Every shared trace under every named policy, from one run: `make bench FIGURE=table`. Markdown; counting-only, exact
estimates.

Traces come from the folder in PODWRIGHT_TRACES, by default ../shared/traces.
"""

from collections.abc import Iterator

from orchestrator.scheduler.policy import POLICIES
from tests.benchmarks.traces import CASES, Case, summary

_HEAD = "| trace | policy | completion mean | median | p99 | wait mean | slowdown p99 | use | Jain | evictions |"


def table() -> Iterator[str]:
    """The lines of the table; seconds, slowdown bounded at 10 s."""
    yield _HEAD
    yield "|---|---|" + "---:|" * 8
    for case in CASES:
        for policy in POLICIES:
            yield _row(case, policy)


def _row(case: Case, policy: str) -> str:
    found = summary(case, policy)
    done, waited = found.completion_s, found.waiting_s
    cells = (
        case.name,
        policy,
        f"{done.mean:,.0f}",
        f"{done.median:,.0f}",
        f"{done.p99:,.0f}",
        f"{waited.mean:,.0f}",
        f"{found.bounded_slowdown.p99:,.1f}",
        f"{found.utilisation:.0%}",
        f"{found.jain:.2f}",
        str(found.evictions),
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    for line in table():
        print(line, flush=True)


if __name__ == "__main__":
    main()
