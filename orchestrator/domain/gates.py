"""What keeps a job BLOCKED: jobs that it waits for, and its array's limit. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from orchestrator.domain.lifecycle import TERMINAL, JobState

MAX_DEPENDENCIES: Final = 100


class On(StrEnum):
    """How a job has to end for a dependency on it to be met."""

    SUCCESS = "success"
    FAILURE = "failure"
    END = "end"
    """In any way."""

    def met_by(self, state: JobState) -> bool:
        match self:
            case On.SUCCESS:
                return state is JobState.SUCCEEDED
            case On.FAILURE:
                return state is JobState.FAILED
        return state in TERMINAL


@dataclass(frozen=True, slots=True)
class Dependency:
    """Wait for the end of one job."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}  # read by pydantic as it is

    job: str
    on: On = On.SUCCESS


@dataclass(frozen=True, slots=True)
class Dependencies:
    """All of `all`, and at least one of `any` if there are such."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}  # read by pydantic as it is

    all: tuple[Dependency, ...] = ()
    any: tuple[Dependency, ...] = ()

    @property
    def each(self) -> tuple[Dependency, ...]:
        return (*self.all, *self.any)


NO_DEPENDENCIES: Final = Dependencies()


@dataclass(frozen=True, slots=True)
class Met:
    """Nothing is waited for."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not yet; `says` for whom."""

    says: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """It can never be met any more; `says` why."""

    says: str


Gate = Met | Waiting | Impossible


def look(after: Dependencies, states: Mapping[str, JobState]) -> Gate:
    """Whether the dependencies are met, by the states of the jobs that they name."""
    for one in after.all:
        if _lost(one, states):
            return Impossible(f"it waits for {one.on} of {one.job}, which ended {states[one.job]}")
    if after.any and all(_lost(one, states) for one in after.any):
        ended = ", ".join(f"{one.job} ended {states[one.job]}" for one in after.any)
        return Impossible(f"none of the jobs of which one was to be waited for ended as wanted: {ended}")
    open_ones = [one for one in after.all if not _met(one, states)]
    if after.any and not any(_met(one, states) for one in after.any):
        return Waiting(f"waits for {_named(open_ones)}one of {', '.join(f'{one.job} ({one.on})' for one in after.any)}")
    return Waiting(f"waits for {', '.join(f'{one.job} ({one.on})' for one in open_ones)}") if open_ones else Met()


def _named(open_ones: Iterable[Dependency]) -> str:
    return "".join(f"{one.job} ({one.on}), and for " for one in open_ones)


def _met(one: Dependency, states: Mapping[str, JobState]) -> bool:
    return one.job in states and one.on.met_by(states[one.job])


def _lost(one: Dependency, states: Mapping[str, JobState]) -> bool:
    state = states.get(one.job)
    return state in TERMINAL and not one.on.met_by(state)
