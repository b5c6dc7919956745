"""Whether a gang makes progress: the ranks' pulses held against the limits of the order. Pure.

A program that says nothing and joins nothing is unobserved: no rule applies to it.
"""

from collections.abc import Mapping
from typing import Final

from orchestrator.domain.incident import Overdue
from orchestrator.domain.patience import Limits
from workers.host.messages import Pulse

BARRIER: Final = "join"


def overdue(limits: Limits, pulses: Mapping[int, Pulse]) -> Overdue | None:
    """What is overdue, of the ranks that run; the barrier is looked at first, as everything else waits for it.

    Answers that are still to come leave their rank out of `pulses`.
    """
    return _at_barrier(limits, pulses) or _in_phase(limits, pulses) or _between_steps(limits, pulses)


def _at_barrier(limits: Limits, pulses: Mapping[int, Pulse]) -> Overdue | None:
    """Ranks that have not come to the barrier, once one has come, or that said they would and never did."""
    missing = {rank: pulse for rank, pulse in pulses.items() if not pulse.joined}
    expected = len(missing) < len(pulses) or any(pulse.phase == "init" for pulse in missing.values())
    if limits.init_ms is None or not missing or not expected:
        return None
    waited_ms = max(pulse.age_ms for pulse in missing.values())
    if waited_ms <= limits.init_ms:
        return None
    return Overdue(BARRIER, tuple(sorted(missing)), waited_ms, limits.init_ms)


def _in_phase(limits: Limits, pulses: Mapping[int, Pulse]) -> Overdue | None:
    late: dict[str, list[tuple[int, Pulse, int]]] = {}
    for rank, pulse in pulses.items():
        limit_ms = limits.of_phase(pulse.phase) if pulse.phase is not None else None
        if pulse.phase is not None and pulse.joined and limit_ms is not None and pulse.phase_ms > limit_ms:
            late.setdefault(pulse.phase, []).append((rank, pulse, limit_ms))
    for phase, found in sorted(late.items()):
        ranks = tuple(sorted(rank for rank, _, _ in found))
        return Overdue(phase, ranks, max(pulse.phase_ms for _, pulse, _ in found), found[0][2], _least_step(pulses))
    return None


def _between_steps(limits: Limits, pulses: Mapping[int, Pulse]) -> Overdue | None:
    """The gang has one history: its ranks step together."""
    trains = {
        rank: pulse
        for rank, pulse in pulses.items()
        if pulse.step is not None and pulse.phase in (None, "train") and not _done(pulse)
    }
    if not trains:
        return None
    limit_ms = limits.of_step(
        gaps=max(pulse.gaps for pulse in trains.values()),
        median_ms=max(pulse.median_ms for pulse in trains.values()),
        slowest_ms=max(pulse.slowest_ms for pulse in trains.values()),
    )
    late = [rank for rank, pulse in trains.items() if limit_ms is not None and pulse.step_ms > limit_ms]
    if not late or limit_ms is None:
        return None
    return Overdue(
        "train", tuple(sorted(late)), max(trains[rank].step_ms for rank in late), limit_ms, _least_step(trains)
    )


def _done(pulse: Pulse) -> bool:
    """After its last step a program may do what it likes."""
    return pulse.total_steps is not None and pulse.step is not None and pulse.step >= pulse.total_steps


def _least_step(pulses: Mapping[int, Pulse]) -> int | None:
    return min((pulse.step for pulse in pulses.values() if pulse.step is not None), default=None)
