"""The card of an attempt's first failure: the verdict with all that a person wants to see beside it. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.domain.endings import Reason
from orchestrator.domain.incident import Card, Cause, Collateral, Overdue, RankExit, StackGroup
from orchestrator.incidents.advice import advise
from orchestrator.incidents.signs import is_echo
from orchestrator.incidents.stacks import group

WRONG_CLOCK_MS: Final = 2_000
"""A clock that is off by more is worth a note: certificates, and storage's signatures, fail from some minutes on."""
MOST_COLLATERAL: Final = 64
_NO_TROUBLE: Final = frozenset({Reason.COMPLETED, Reason.CANCELLED, Reason.HELD, Reason.EVICTED, Reason.RESIZED})


def with_card(
    cause: Cause,
    exits: Sequence[RankExit],
    detected_at_ms: int,
    last_sign_at_ms: int | None = None,
    overdue: Overdue | None = None,
) -> Cause:
    """The cause with its card; as it is where the ending is no trouble."""
    if cause.reason in _NO_TROUBLE:
        return cause
    root = next((exit for exit in exits if exit.rank == cause.rank), None)
    advice, advises = advise(cause.reason, root)
    card = Card(
        exit=None if root is None or root.ordered else root.says,
        step=_step(root, overdue),
        phase=overdue.phase if overdue is not None else (root.phase if root is not None else None),
        began_at_ms=_began_at_ms(root, detected_at_ms, last_sign_at_ms, overdue),
        detected_at_ms=detected_at_ms,
        advice=advice,
        advises=advises,
        collateral=tuple(_collateral(cause, exits))[:MOST_COLLATERAL],
        stacks=stacks_of(exits),
        notes=tuple(_notes(exits)),
    )
    return replace(cause, card=card)


def stacks_of(exits: Sequence[RankExit]) -> tuple[StackGroup, ...]:
    """Where all ranks stood, if that was looked at."""
    return group(exits)


def _step(root: RankExit | None, overdue: Overdue | None) -> int | None:
    if root is not None and root.last_step is not None:
        return root.last_step
    return overdue.step if overdue is not None else None


def _began_at_ms(
    root: RankExit | None, detected_at_ms: int, last_sign_at_ms: int | None, overdue: Overdue | None
) -> int | None:
    if overdue is not None:
        return detected_at_ms - overdue.waited_ms
    if root is not None and not root.lost and not root.ordered:
        return root.at_ms
    return last_sign_at_ms


def _collateral(cause: Cause, exits: Sequence[RankExit]) -> Iterator[Collateral]:
    for exit in sorted(exits, key=lambda exit: exit.rank):
        if exit.rank != cause.rank and not exit.lost:
            yield Collateral(exit.rank, exit.slice_id, exit.host, _why_not_blamed(exit, cause))


def _why_not_blamed(exit: RankExit, cause: Cause) -> str:
    if exit.ok:
        return "had finished"
    if exit.ordered:
        return f"{exit.says}, by us, as the gang ended"
    if is_echo(exit):
        lost = f"rank {cause.rank}" if cause.rank is not None else "a sibling"
        return f"{exit.says}, as it had lost {lost}"
    return f"{exit.says}, after that"


def _notes(exits: Sequence[RankExit]) -> Iterator[str]:
    for exit in exits:
        if abs(exit.clock_ahead_ms) >= WRONG_CLOCK_MS:
            side = "ahead" if exit.clock_ahead_ms > 0 else "behind"
            off = abs(exit.clock_ahead_ms) / 1000
            yield f"the clock of {exit.slice_id}/{exit.host} is {off:,.1f} s {side}; times here are corrected for it"
        if exit.memory is not None and not exit.ok:
            yield f"{exit.slice_id}/{exit.host}: {exit.memory}"
        if exit.disk is not None and not exit.ok:
            yield f"{exit.slice_id}/{exit.host}: {exit.disk}"
