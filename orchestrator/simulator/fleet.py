"""The simulated fleet: pools of slices, who shares them and when slices are out; from a YAML file, or counting-only.

```yaml
pools:
  - {name: small, shape: v5e:2x4, slices: 8, capacity: spot}
windows:
  - {slice: small-0, from: 14h, until: 18h}         # since the trace's start
projects:
  research: {weight: 2, parents: [team-a, acme]}
quotas:
  - {owner: team-a, pool: small, guarantee_chips: 16, limit_chips: 48}
```
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import TypeAdapter, ValidationError

from orchestrator.domain.faults import SpecError
from orchestrator.domain.ids import ClusterId, SliceId
from orchestrator.domain.job import Slice, SliceState
from orchestrator.domain.sharing import Project, Quota, Window
from orchestrator.domain.spec import duration_ms
from orchestrator.domain.topology import SliceRequest, SliceShape

CLUSTER: Final = ClusterId("simulated")
_ONE_CHIP: Final = SliceShape.parse("v5e:1x1")


class BadFleet(Exception):
    """The fleet file cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """What there is, at the trace's start."""

    slices: tuple[Slice, ...]
    windows: Mapping[SliceId, tuple[Window, ...]] = field(default_factory=dict)
    projects: Mapping[str, Project] = field(default_factory=dict)
    quotas: tuple[Quota, ...] = ()

    @property
    def chips(self) -> int:
        return sum(known.shape.chips for known in self.slices)

    def pools(self) -> tuple[tuple[SliceShape, int], ...]:
        """(shape, slices) of each pool."""
        counts = Counter((known.pool, known.shape) for known in self.slices)
        return tuple((shape, count) for (_, shape), count in sorted(counts.items()))


def request(chips: int, pools: Iterable[tuple[SliceShape, int]]) -> SliceRequest | None:
    """The slices that a job of so many chips gets: as few chips as will do, in as few slices; None if no pool has
    as many."""
    requests = ((SliceRequest(-(-chips // shape.chips), shape), count) for shape, count in pools)
    fitting = (wants for wants, count in requests if wants.count <= count)
    return min(fitting, key=lambda wants: (wants.chips, wants.count), default=None)


def counting(chips: int) -> Fleet:
    """`chips` slices of one chip in one pool: no topology, as in the literature."""
    return Fleet(tuple(_slice("chips", index, _ONE_CHIP, "reserved") for index in range(chips)))


@dataclass(frozen=True, slots=True)
class _Pool:
    __pydantic_config__ = {"extra": "forbid"}
    name: str
    shape: str
    slices: int
    capacity: Literal["spot", "on_demand", "reserved"] = "reserved"


@dataclass(frozen=True, slots=True)
class _Tenant:
    __pydantic_config__ = {"extra": "forbid"}
    weight: float = 1.0
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__ = {"extra": "forbid"}
    pools: tuple[_Pool, ...]
    windows: tuple[dict[str, str], ...] = ()
    projects: dict[str, _Tenant] = field(default_factory=dict)
    quotas: tuple[Quota, ...] = ()


_FILE: Final = TypeAdapter(_File)


def read_fleet(path: Path) -> Fleet:
    """The fleet that a YAML file describes.

    Raises:
        BadFleet: a field is wrong; the message names it.
    """
    try:
        plain: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        read = _FILE.validate_python(plain)
        slices = tuple(
            _slice(pool.name, index, SliceShape.parse(pool.shape), pool.capacity)
            for pool in read.pools
            for index in range(pool.slices)
        )
        windows = _windows(read.windows, frozenset(known.id for known in slices))
    except (yaml.YAMLError, ValidationError, SpecError, ValueError) as error:
        raise BadFleet(f"{path.name}: {error}") from None
    projects = {name: Project(name, 0.0, tenant.weight, tenant.parents) for name, tenant in read.projects.items()}
    return Fleet(slices, windows, projects, read.quotas)


def _windows(rows: tuple[dict[str, str], ...], known: frozenset[SliceId]) -> dict[SliceId, tuple[Window, ...]]:
    found: dict[SliceId, tuple[Window, ...]] = {}
    for row in rows:
        if set(row) != {"slice", "from", "until"} or row["slice"] not in known:
            raise ValueError(f"a window has slice, from and until, and the slice must exist: {row}")
        since, until = duration_ms(row["from"], "from"), duration_ms(row["until"], "until")
        if since is None or until is None or until <= since:
            raise ValueError(f"a window ends after it begins: {row}")
        id = SliceId(row["slice"])
        found[id] = (*found.get(id, ()), Window(since, until))
    return found


def _slice(pool: str, index: int, shape: SliceShape, capacity: str) -> Slice:
    return Slice(SliceId(f"{pool}-{index}"), CLUSTER, pool, shape, capacity, "1", SliceState.UP, "", 0)
