"""Which slices are suspect: attempts were lost there lately by no fault of their program, and none ended well since.

A first strike makes a slice suspect for half an hour, each further one for twice as long, at most a day: what happened
once may happen to anybody, and a slice that keeps losing attempts is left alone. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import SliceId

STRIKES: Final = frozenset({Reason.HOST_LOST, Reason.SLICE_LOST, Reason.LAUNCH_FAILED})
FIRST_MS: Final = 30 * 60_000
LONGEST_MS: Final = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Strike:
    """An attempt ended like this, and a slice is to blame."""

    slice_id: SliceId
    reason: Reason
    at_ms: int


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A slice is used only where no sound one will do, until then."""

    slice_id: SliceId
    strikes: int
    reason: Reason
    """Of the last."""
    at_ms: int
    until_ms: int

    @property
    def says(self) -> str:
        times = "once" if self.strikes == 1 else f"{self.strikes} times"
        return f"lost an attempt {times} lately, the last as {self.reason}"


def suspicions(
    strikes: Iterable[Strike], ended_well_ms: Mapping[SliceId, int], now_ms: int
) -> dict[SliceId, Suspicion]:
    """The slices that are suspect now. `ended_well_ms`: when an attempt on the slice was last completed."""
    found: dict[SliceId, Suspicion] = {}
    for strike in sorted(strikes, key=lambda strike: strike.at_ms):
        if not now_ms - LONGEST_MS < strike.at_ms or strike.at_ms < ended_well_ms.get(strike.slice_id, 0):
            continue
        count = found[strike.slice_id].strikes + 1 if strike.slice_id in found else 1
        span_ms = min(LONGEST_MS, FIRST_MS << min(count - 1, 8))
        found[strike.slice_id] = Suspicion(strike.slice_id, count, strike.reason, strike.at_ms, strike.at_ms + span_ms)
    return {id: suspicion for id, suspicion in found.items() if now_ms < suspicion.until_ms}
