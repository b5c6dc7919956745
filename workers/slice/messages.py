"""What the cluster process and a supervisor say to each other: JSON, since either may run an older build."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import TypeAdapter

from orchestrator.protocol import FactsPost, RunOrder


class Phase(StrEnum):
    """Where a slice's supervisor is."""

    RESERVING = "reserving"
    UP = "up"
    LOST = "lost"
    """A host is gone; the slice takes no more orders and is released once everything was reported."""


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """The reservation that a new supervisor shall make."""

    slice_id: str
    incarnation: str
    build: str
    pool: str
    shape: str
    capacity: str
    hosts: int
    chips_per_host: int
    emulated: bool
    work_dir: str
    server: str


@dataclass(frozen=True, slots=True)
class SupervisorState:
    """A supervisor at a glance. `settled`: no fact and no stream of an ended attempt waits to be sent."""

    incarnation: str
    build: str
    phase: Phase
    running: str | None
    """The attempt that holds the slice, until its end was reported."""
    ended: tuple[str, ...]
    """Attempts that ended here and must not start again."""
    settled: bool


SLICE_PLAN: Final = TypeAdapter(SlicePlan)
SUPERVISOR_STATE: Final = TypeAdapter(SupervisorState)
RUN_ORDER: Final = TypeAdapter(RunOrder)
FACTS: Final = TypeAdapter(FactsPost)
