"""Devices per mesh axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from orchestrator.domain.faults import STRICT, SpecError
from orchestrator.domain.programs.train.checks import positive


@dataclass(frozen=True, slots=True)
class MeshConfig:
    """Outermost first. `fsdp` or `data` None takes all devices that the others leave."""

    __pydantic_config__ = STRICT

    data: int | None = 1
    """copies of the model; the only axis that reaches from slice to slice, so a multiple of their number"""
    fsdp: int | None = None
    """pieces of the model, gathered layer by layer"""
    fsdp_across: int = 1
    """a second `fsdp` axis: fsdp x fsdp_across pieces, each axis with collectives of its own, as a torus has rings. For
    a whole slice that is one dimension and the rest: 4 of v5p:4x4x4, 16 of v6e:16x16"""
    expert: int = 1
    """pieces of the experts; elsewhere it splits the batch as `data` does"""
    sequence: int = 1
    """pieces of a context's tokens"""
    tensor: int = 1
    """pieces of heads and widths"""

    def __post_init__(self) -> None:
        positive(self, *(field.name for field in fields(self)))
        if self.data is None and self.fsdp is None:
            raise SpecError("fsdp", "only one of data and fsdp can take all devices that are left")

    def shape(self, device_count: int) -> tuple[int, ...]:
        """Devices along each axis, in the order of the fields, `device_count` in all. Raises ValueError when they do
        not multiply to it."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        left = max(1, device_count // math.prod(size or 1 for size in given.values()))
        sizes = {name: size or left for name, size in given.items()}
        if math.prod(sizes.values()) != device_count:
            said = " x ".join(f"{name}={size}" for name, size in sizes.items() if size > 1)
            raise ValueError(f"a mesh of {said or 'one device'} does not use {device_count} devices")
        return tuple(sizes.values())
