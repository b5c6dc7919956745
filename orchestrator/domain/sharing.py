"""How a fleet is shared: projects and their standing, quotas, maintenance windows, and how much a slice is trusted.

All times are wall-clock milliseconds.
"""

from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.ids import ClusterId, PoolName, SliceId
from orchestrator.domain.topology import SliceShape


@dataclass(frozen=True, slots=True)
class Project:
    """A tenant's standing: what it used lately (decayed, see `scheduler.share`), its weight, the groups above."""

    name: str
    usage_chip_ms: float = 0.0
    weight: float = 1.0
    parents: tuple[str, ...] = ()
    """Nearest first: team, organisation."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Chips that a project, team or organisation is sure of and may not exceed, in one pool or (None) in all together.

    What others leave idle may be borrowed up to `limit_chips`; a guarantee's owner gets it back by eviction.
    """

    owner: str
    guarantee_chips: int = 0
    limit_chips: int | None = None
    pool: str | None = None


class Health(StrEnum):
    """How much a slice is trusted."""

    SOUND = "sound"
    SUSPECT = "suspect"
    """Used when no sound slice will do."""
    QUARANTINED = "quarantined"
    """Never used, until a probe has passed."""


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """A slice is out for maintenance in `[since_ms, until_ms)`."""

    since_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """What may be asked of the provider of a pool, in slices."""

    cluster_id: ClusterId
    pool: PoolName
    shape: SliceShape
    capacity: str
    least: int
    most: int
    pending: int = 0
    """Asked for and not there yet."""


@dataclass(frozen=True, slots=True)
class PoolWish:
    """So many slices more, or these go; never both."""

    ask: int
    let_go: tuple[SliceId, ...]
    at_ms: int | None
    """When it was found out; None: not yet."""


Likeness = tuple[str, str, str]
"""Jobs that probably run as long: (project, name, slices as written)."""
