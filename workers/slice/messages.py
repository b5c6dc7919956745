"""What the cluster process and a supervisor say to each other: JSON, since either may run an older build."""

import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import TypeAdapter

from orchestrator.protocol import VERSION, Fact, FactsPost, HostInfo, RunOrder
from workers.host.streams import clean


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
    lent: str | None = None
    """The attempt on several slices that has this one on loan."""


@dataclass(frozen=True, slots=True)
class LoanReply:
    """A supervisor's answer to another that leads an attempt on both slices: its agents, or why not now."""

    refused: str | None
    incarnation: str = ""
    hosts: tuple[HostInfo, ...] = ()


SLICE_PLAN: Final = TypeAdapter(SlicePlan)
SUPERVISOR_STATE: Final = TypeAdapter(SupervisorState)
LOAN_REPLY: Final = TypeAdapter(LoanReply)
RUN_ORDER: Final = TypeAdapter(RunOrder)
FACTS: Final = TypeAdapter(FactsPost)

_FACT: Final = TypeAdapter(Fact)

log = logging.getLogger(__name__)


def facts_json(facts: tuple[Fact, ...]) -> str:
    """The facts as a FactsPost. One that JSON cannot hold is mended, or left out: it must not keep back the others."""
    try:
        return FACTS.dump_json(FactsPost(VERSION, facts)).decode()
    except ValueError:
        return FACTS.dump_json(FactsPost(VERSION, tuple(filter(None, map(_mended, facts))))).decode()


def _mended(fact: Fact) -> Fact | None:
    try:
        mended = _FACT.validate_python(_cleaned(_FACT.dump_python(fact)))
        _FACT.dump_json(mended)
    except (ValueError, TypeError):
        log.exception("fact %d of %s cannot be sent", fact.sequence, fact.source)
        return None
    return mended


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _cleaned(item) for key, item in value.items()}
    return type(value)(map(_cleaned, value)) if isinstance(value, list | tuple) else value
