"""Which committed steps may go. Pure: no storage, no clock; a wrong answer here is a lost week, so each rule is apart.

The newest commit always stays, whatever the policy says: a resume needs it. So does what is pinned, what a job that was
continued from it still needs, and everything that this module does not know of.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.spec import CheckpointPolicy, KeepBest


@dataclass(frozen=True, slots=True)
class Kept:
    """A committed step as retention sees it. `values` are the metrics that were measured at it."""

    attempt: int
    step: int
    at_ms: int
    values: dict[str, float]
    pinned: bool = False
    needed: bool = False
    """A job continues from it and has committed nothing of its own yet."""

    @property
    def place(self) -> tuple[int, int]:
        """Later attempts' steps are the newer ones, also after a fall-back to an older step."""
        return self.attempt, self.step


class Why(StrEnum):
    """Why a step stays; the first that applies is told."""

    NEWEST = "newest"
    PINNED = "pinned"
    NEEDED = "needed"
    LAST = "last"
    BEST = "best"
    MILESTONE = "milestone"


def plan(steps: Sequence[Kept], policy: CheckpointPolicy, now_ms: int) -> dict[tuple[int, int], Why | None]:
    """For each step, by its place, why it stays; None: it may be deleted."""
    newest_first = sorted(steps, key=lambda kept: kept.place, reverse=True)
    last = {kept.place for kept in newest_first[: policy.keep_last]}
    best = best_of(newest_first, policy.keep_best)
    return {kept.place: _why(kept, kept is newest_first[0], last, best, policy, now_ms) for kept in newest_first}


def expired(steps: Sequence[Kept], policy: CheckpointPolicy, now_ms: int) -> tuple[Kept, ...]:
    """The steps that may be deleted, oldest first."""
    reasons = plan(steps, policy, now_ms)
    return tuple(sorted((kept for kept in steps if reasons[kept.place] is None), key=lambda kept: kept.place))


def best_of(steps: Iterable[Kept], wanted: KeepBest | None) -> frozenset[tuple[int, int]]:
    """The places of the best steps. What is not finite, or was not measured, is never among them; a tie goes to the
    newer step."""
    if wanted is None:
        return frozenset()
    sign = 1 if wanted.mode == "min" else -1
    measured = [
        (sign * kept.values[wanted.metric], kept)
        for kept in steps
        if math.isfinite(kept.values.get(wanted.metric, math.nan))
    ]
    measured.sort(key=lambda pair: (pair[0], -pair[1].attempt, -pair[1].step))
    return frozenset(kept.place for _, kept in measured[: wanted.n])


def _why(
    kept: Kept,
    newest: bool,
    last: set[tuple[int, int]],
    best: frozenset[tuple[int, int]],
    policy: CheckpointPolicy,
    now_ms: int,
) -> Why | None:
    if newest:
        return Why.NEWEST
    if kept.pinned:
        return Why.PINNED
    if kept.needed:
        return Why.NEEDED
    if kept.place in last:
        return Why.LAST
    if policy.max_age_ms is not None and now_ms - kept.at_ms > policy.max_age_ms:
        return None
    if kept.place in best:
        return Why.BEST
    if policy.keep_every is not None and kept.step % policy.keep_every == 0:
        return Why.MILESTONE
    return None
