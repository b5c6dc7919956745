"""Summaries as rows of text: one figure a row, one column per simulation. For the command line and the docs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.simulator.metrics import Summary


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of several simulations; `better` says whether less is better, None that neither is."""

    label: str
    values: tuple[float, ...]
    texts: tuple[str, ...]
    less_is_better: bool | None

    @property
    def change(self) -> str:
        """The last column against the first, in per cent."""
        first, last = self.values[0], self.values[-1]
        if len(self.values) < 2 or first == 0:
            return ""
        return f"{100 * (last - first) / abs(first):+.1f} %"


_Figure = tuple[str, Callable[[Summary], float], str, bool | None]

_FIGURES: Final[tuple[_Figure, ...]] = (
    ("jobs that ended", lambda s: s.ended, ",.0f", None),
    ("completion, mean s", lambda s: s.completion_s.mean, ",.0f", True),
    ("completion, median s", lambda s: s.completion_s.median, ",.0f", True),
    ("completion, p99 s", lambda s: s.completion_s.p99, ",.0f", True),
    ("waiting, mean s", lambda s: s.waiting_s.mean, ",.0f", True),
    ("waiting, median s", lambda s: s.waiting_s.median, ",.0f", True),
    ("waiting, p99 s", lambda s: s.waiting_s.p99, ",.0f", True),
    ("bounded slowdown, mean", lambda s: s.bounded_slowdown.mean, ",.2f", True),
    ("bounded slowdown, p99", lambda s: s.bounded_slowdown.p99, ",.2f", True),
    ("makespan s", lambda s: s.makespan_s, ",.0f", True),
    ("utilisation", lambda s: s.utilisation, ".3f", False),
    ("Jain over users", lambda s: s.jain, ".3f", False),
    ("finish-time ratio, trace, worst", lambda s: s.finish_of_trace.worst, ",.2f", True),
    ("finish-time ratio, trace, mean", lambda s: s.finish_of_trace.mean, ",.2f", True),
    ("finish-time ratio, jobs, worst", lambda s: s.finish_of_jobs.worst, ",.2f", True),
    ("finish-time ratio, jobs, mean", lambda s: s.finish_of_jobs.mean, ",.2f", True),
    ("finish-time ratio, users, worst", lambda s: s.finish_of_users.worst, ",.2f", True),
    ("finish-time ratio, users, mean", lambda s: s.finish_of_users.mean, ",.2f", True),
    ("preemptions", lambda s: s.preemptions, ",.0f", True),
    ("evictions", lambda s: s.evictions, ",.0f", True),
    ("resizes", lambda s: s.resizes, ",.0f", None),
    ("chip-seconds lost", lambda s: s.lost_chip_s, ",.0f", True),
)


def rows(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    """All figures of some simulations, side by side."""
    return tuple(
        Row(
            label,
            tuple(float(figure(summary)) for summary in summaries),
            tuple(format(figure(summary), form) for summary in summaries),
            less_is_better,
        )
        for label, figure, form, less_is_better in _FIGURES
    )
