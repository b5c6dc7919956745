"""What admins say about parts of the fleet: each restriction names its target and its reason."""

from dataclasses import dataclass
from enum import StrEnum


class Target(StrEnum):
    """What a restriction covers. A slice is an atom: a restricted host takes its whole slice out."""

    POOL = "pool"
    SLICE = "slice"
    HOST = "host"
    """Written `slice/host`."""


class Limit(StrEnum):
    """How far a target is taken out."""

    CORDONED = "cordoned"
    """Nothing new starts there."""
    DRAINING = "draining"
    """And what runs there is evicted."""
    QUARANTINED = "quarantined"
    """Nothing new starts there: it is suspected of being broken."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """One target, taken out by somebody for a reason."""

    target: Target
    name: str
    limit: Limit
    reason: str
    actor: str
    at_ms: int

    def covers(self, slice_id: str, pool: str) -> bool:
        return _covers(self.target, self.name, slice_id, pool)


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A target is out in `[since_ms, until_ms)`, as somebody declared for a reason."""

    id: str
    target: Target
    name: str
    since_ms: int
    until_ms: int
    reason: str
    actor: str
    at_ms: int

    def covers(self, slice_id: str, pool: str) -> bool:
        return _covers(self.target, self.name, slice_id, pool)


@dataclass(frozen=True, slots=True)
class Host:
    """One TPU VM of a slice, as its cluster last described it."""

    slice_id: str
    host: int
    node_id: str
    address: str
    chips: int


def _covers(target: Target, name: str, slice_id: str, pool: str) -> bool:
    match target:
        case Target.POOL:
            return name == pool
        case Target.SLICE:
            return name == slice_id
    return name.rpartition("/")[0] == slice_id
