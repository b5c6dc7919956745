"""TPU slice shapes: generations, the topologies that are sold, and how many hosts and chips each has.

Sources: Google Cloud TPU documentation, "TPU configurations" of each generation. libtpu accepts shapes that nobody
sells, so this table, not the compiler, says what a spec may ask for.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Generation:
    """One TPU generation. An accelerator type counts `name_counts` per chip: `v4-8` is 4 chips."""

    name: str
    type_prefix: str
    name_counts: int
    dims: int
    topologies: tuple[str, ...]
    """Sold topologies of at most 64 chips (3-D) or all of them (2-D); larger 3-D ones are cubes of 4x4x4 blocks."""
    hbm_bytes_per_chip: int


GIB: Final = 1024**3
_2D_E: Final = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_3D: Final = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4")

GENERATIONS: Final[Mapping[str, Generation]] = MappingProxyType(
    {
        g.name: g
        for g in (
            Generation("v2", "v2", 2, 2, ("2x2", "4x4", "4x8", "8x8", "8x16", "16x16"), 16 * GIB),
            Generation("v3", "v3", 2, 2, ("2x2", "4x4", "4x8", "8x8", "8x16", "16x16", "16x32", "32x32"), 32 * GIB),
            Generation("v4", "v4", 2, 3, _3D, 32 * GIB),
            Generation("v5e", "v5litepod", 1, 2, _2D_E, 16 * GIB),
            Generation("v5p", "v5p", 2, 3, _3D, 95 * GIB),
            Generation("v6e", "v6e", 1, 2, _2D_E, 32 * GIB),
            Generation("tpu7x", "tpu7x", 2, 3, _3D, 192 * GIB),
        )
    }
)
CHIPS_PER_HOST: Final = 4
MOST_ELASTIC: Final = 64
_LARGEST_3D_SIDE: Final = 48


@dataclass(frozen=True, slots=True, order=True)
class SliceShape:
    """What one slice is: a generation and a topology, e.g. `v5e:2x4`."""

    generation: str
    topology: str

    @classmethod
    @lru_cache(maxsize=1024)  # each tick reads the same few texts for every job
    def parse(cls, text: str) -> "SliceShape":
        """Read `v5e:2x4`, or one of Google's accelerator types (`v5litepod-8`, `v4-8`).

        Raises:
            ValueError: naming what is wrong and what is allowed.
        """
        name, colon, topology = text.partition(":")
        if colon:
            if name not in GENERATIONS:
                raise ValueError(f"unknown TPU generation {name!r}; known: {', '.join(GENERATIONS)}")
            return cls(name, _sold(GENERATIONS[name], topology))
        for generation in GENERATIONS.values():
            if match := re.fullmatch(rf"{generation.type_prefix}-(\d+)", text):
                return cls(generation.name, _of_size(generation, int(match[1]), text))
        raise ValueError(f"{text!r} is not a slice; write GENERATION:TOPOLOGY, e.g. v5e:2x4, or v5litepod-8")

    @property
    def dims(self) -> tuple[int, ...]:
        return _dims(self.topology)

    @property
    def chips(self) -> int:
        return prod(self.dims)

    @property
    def hosts(self) -> int:
        """Hosts of four chips each; a slice of fewer chips has one host."""
        return max(1, self.chips // CHIPS_PER_HOST)

    @property
    def chips_per_host(self) -> int:
        return self.chips // self.hosts

    def __str__(self) -> str:
        return f"{self.generation}:{self.topology}"


@dataclass(frozen=True, slots=True)
class SliceRequest:
    """`count` slices of one shape: `2*v5e:4x4` is a multislice job over DCN."""

    count: int
    shape: SliceShape

    @classmethod
    def parse(cls, text: str) -> "SliceRequest":
        """Read `v5e:4x4` or `2*v5e:4x4`. Raises ValueError as `SliceShape.parse`."""
        head, star, tail = text.partition("*")
        if not star:
            return cls(1, SliceShape.parse(text.strip()))
        if not re.fullmatch(r"[1-9]\d{0,3}", head.strip()):
            raise ValueError(f"{head.strip()!r} is not a number of slices; write e.g. 2*v5e:4x4 (1 to 9999)")
        return cls(int(head), SliceShape.parse(tail.strip()))

    @property
    def chips(self) -> int:
        return self.count * self.shape.chips

    @property
    def hosts(self) -> int:
        return self.count * self.shape.hosts

    def __str__(self) -> str:
        return str(self.shape) if self.count == 1 else f"{self.count}*{self.shape}"


@lru_cache(maxsize=1024)
def parse_choices(text: str) -> tuple[SliceRequest, ...]:
    """Read what `SliceRequest.parse` reads, or an elastic `2-4*v5e:4x4`: the counts from the largest down.

    Raises:
        ValueError: naming what is wrong and what is allowed.
    """
    least, dash, rest = text.partition("-")
    most, star, shape = rest.partition("*")
    if not (dash and star and least.strip().isdecimal() and most.strip().isdecimal()):
        return (SliceRequest.parse(text),)
    if not 1 <= int(least) < int(most) <= MOST_ELASTIC:
        raise ValueError(f"{least}-{most} is not a range of counts; write e.g. 2-4*v5e:4x4, at most {MOST_ELASTIC}")
    counts = range(int(most), int(least) - 1, -1)
    return tuple(SliceRequest(count, SliceShape.parse(shape.strip())) for count in counts)


def _dims(topology: str) -> tuple[int, ...]:
    return tuple(int(side) for side in topology.split("x"))


def _sold(generation: Generation, topology: str) -> str:
    if topology in generation.topologies:
        return topology
    if generation.dims == 3 and re.fullmatch(r"\d{1,3}x\d{1,3}x\d{1,3}", topology):
        dims = _dims(topology)
        if all(0 < side <= _LARGEST_3D_SIDE and side % 4 == 0 for side in dims) and dims == tuple(sorted(dims)):
            return topology
    more = "" if generation.dims == 2 else ", and multiples of 4 in ascending order, e.g. 4x4x8"
    raise ValueError(f"{generation.name} has no topology {topology!r}; sold: {', '.join(generation.topologies)}{more}")


def _of_size(generation: Generation, number: int, text: str) -> str:
    for topology in generation.topologies:
        if prod(_dims(topology)) * generation.name_counts == number:
            return topology
    sizes = ", ".join(
        f"{generation.type_prefix}-{prod(_dims(t)) * generation.name_counts}" for t in generation.topologies
    )
    raise ValueError(f"{text!r} names no {generation.name} slice; sold: {sizes}; larger ones by topology")
