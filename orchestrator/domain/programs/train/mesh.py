"""Devices per mesh axis."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.programs.train.checks import positive
from orchestrator.domain.spec import STRICT, SpecError


@dataclass(frozen=True, slots=True)
class MeshConfig:
    """`data` copies the model, `fsdp` spreads it and gathers it layer by layer, `sequence` splits the tokens of a
    context, `tensor` splits heads and widths. `fsdp` or `data` None takes all devices that the others leave."""

    __pydantic_config__ = STRICT

    data: int | None = 1
    fsdp: int | None = None
    sequence: int = 1
    tensor: int = 1

    def __post_init__(self) -> None:
        positive(self, "data", "fsdp", "sequence", "tensor")
        if self.data is None and self.fsdp is None:
            raise SpecError("fsdp", "only one of data and fsdp can take all devices that are left")

    def shape(self, device_count: int) -> tuple[int, int, int, int]:
        """(data, fsdp, sequence, tensor) over `device_count` devices. Raises ValueError when they do not multiply to
        it."""
        given = (self.data or 1) * (self.fsdp or 1) * self.sequence * self.tensor
        left = max(1, device_count // given)
        data, fsdp = self.data or left, self.fsdp or left
        if data * fsdp * self.sequence * self.tensor != device_count:
            raise ValueError(
                f"a mesh of data={data} x fsdp={fsdp} x sequence={self.sequence} x tensor={self.tensor} "
                f"does not use {device_count} devices"
            )
        return data, fsdp, self.sequence, self.tensor
