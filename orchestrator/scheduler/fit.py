"""Whether a gang fits: whole, on named slices of one pool, or the reason why not as a value."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.ids import ClusterId, SliceId
from orchestrator.domain.topology import SliceRequest
from orchestrator.scheduler.board import Group


@dataclass(frozen=True, slots=True)
class Placement:
    """The slices that a gang gets."""

    cluster_id: ClusterId
    slices: tuple[SliceId, ...]
    chips: int


class MisfitKind(StrEnum):
    """The first thing that would have to change for a choice to fit."""

    NO_SUCH_SLICES = "no_such_slices"
    """It would not fit if every slice were free."""
    OUT = "out"
    """It would fit, but slices are out for maintenance or in quarantine."""
    BUSY = "busy"
    """It would fit, but other jobs hold the slices."""
    RESERVED = "reserved"
    """Free slices fit, but they are kept for a job that was there first, or for maintenance, before this one ends."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """One choice of a job that cannot be placed, with all that stands in its way. Counts are slices.

    `of_shape` are up; of these `free` are held by nobody, `kept` of the free ones are reserved.
    """

    kind: MisfitKind
    wants: SliceRequest
    of_shape: int
    free: int
    largest: tuple[str, ...]
    """Shapes that are up, most chips first."""
    kept: int = 0
    maintained: int = 0
    quarantined: int = 0
    pools: int = 1

    @property
    def says(self) -> str:
        want = f"wants {self.wants} ({self.wants.chips} chips on {self.wants.hosts} hosts)"
        return f"{want}: {self._lacks}{self._besides}"

    @property
    def _lacks(self) -> str:
        needed = f"{self.wants.count} needed"
        match self.kind:
            case MisfitKind.NO_SUCH_SLICES:
                where = f" in {self.pools} pools, and a gang takes one pool" if self.pools > 1 else ""
                have = ", ".join(self.largest) or "none"
                return f"{self.of_shape} of that shape are up{where}, {needed}; slices up: {have}"
            case MisfitKind.RESERVED:
                return f"{self.free} free, but kept for a job that waits longer or has a higher priority"
        where = f" in {self.pools} pools" if self.pools > 1 else ""
        return f"{self.of_shape} of that shape are up{where}, {self.free} free, {needed}"

    @property
    def _besides(self) -> str:
        parts = []
        if self.kept and self.kind is not MisfitKind.RESERVED:
            parts.append(f"{self.kept} of the free ones kept for a job that was there first")
        if self.maintained:
            parts.append(f"{self.maintained} out for maintenance")
        if self.quarantined:
            parts.append(f"{self.quarantined} in quarantine")
        return "".join(f"; {part}" for part in parts)


def misfit(wants: SliceRequest, groups: Sequence[Group], fleet: Iterable[Group]) -> Misfit:
    """Why `wants` does not fit on `groups`."""
    if not any(group.up >= wants.count for group in groups):
        kind = MisfitKind.NO_SUCH_SLICES
    elif not any(len(group.from_ms) >= wants.count for group in groups):
        kind = MisfitKind.OUT
    elif any(group.free >= wants.count for group in groups):
        kind = MisfitKind.RESERVED
    else:
        kind = MisfitKind.BUSY
    return Misfit(
        kind,
        wants,
        of_shape=sum(group.up for group in groups),
        free=sum(group.free for group in groups),
        largest=_shapes_up(fleet),
        kept=sum(group.kept for group in groups),
        maintained=sum(group.maintained for group in groups),
        quarantined=sum(group.quarantined for group in groups),
        pools=len(groups),
    )


def _shapes_up(fleet: Iterable[Group]) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    chips: dict[str, int] = {}
    for group in fleet:
        counts[str(group.shape)] += group.up
        chips[str(group.shape)] = group.shape.chips
    return tuple(f"{counts[shape]} x {shape}" for shape in sorted(counts, key=lambda shape: (-chips[shape], shape)))
