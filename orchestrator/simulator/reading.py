"""What a person asks to be simulated, as text, made into setups: one for each thing that is compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, get_type_hints

from orchestrator.domain.ids import SliceId
from orchestrator.domain.spec import duration_ms
from orchestrator.scheduler.policy import POLICIES, Policy
from orchestrator.simulator.engine import Setup
from orchestrator.simulator.faults import FaultModel, Loss
from orchestrator.simulator.fleet import Fleet, counting, read_fleet
from orchestrator.simulator.gang import Costs
from orchestrator.simulator.trace import TraceJob
from orchestrator.simulator.workload import Estimates

_TYPES: Final[Mapping[str, Any]] = get_type_hints(Policy)


class BadQuestion(Exception):
    """What was asked for cannot be simulated; the message says why."""


@dataclass(frozen=True, slots=True)
class Question:
    """The parts of a simulation that are the same on both sides of a comparison."""

    jobs: tuple[TraceJob, ...]
    estimates: Estimates
    costs: Costs
    faults: FaultModel
    losses: Mapping[SliceId, tuple[Loss, ...]]


@dataclass(frozen=True, slots=True)
class Side:
    """One fleet under one policy, with the name that its column gets."""

    label: str
    setup: Setup


def sides(
    question: Question, policies: Sequence[str], fleets: Sequence[str], what_if: Sequence[str] = ()
) -> tuple[Side, ...]:
    """Every fleet under every policy, and the first pair with each `what_if` in place of its policy or its fleet.

    Raises:
        BadQuestion: there is no such policy or setting.
        BadFleet: a fleet file cannot be used.
    """
    pairs = [(policy, fleet) for fleet in fleets for policy in policies]
    for other in what_if:
        is_policy = other.partition(",")[0] in POLICIES
        pairs.append((other, fleets[0]) if is_policy else (policies[0], other))
    one_fleet = len({fleet for _, fleet in pairs}) == 1
    return tuple(
        Side(
            policy if one_fleet else f"{policy} on {Path(fleet).stem}",
            Setup(
                question.jobs,
                read_fleet_or_chips(fleet),
                read_policy(policy),
                question.estimates,
                question.costs,
                question.faults,
                question.losses,
            ),
        )
        for policy, fleet in pairs
    )


def read_fleet_or_chips(text: str) -> Fleet:
    """A fleet file, or a number of chips for counting-only."""
    return counting(int(text)) if text.isdecimal() and int(text) > 0 else read_fleet(Path(text))


def read_policy(text: str) -> Policy:
    """A named policy, or one with other settings: `default,reservations=4,min_runtime=10m,evict=no`.

    Raises:
        BadQuestion: naming what is wrong and what is known.
    """
    name, *settings = text.split(",")
    if name not in POLICIES:
        raise BadQuestion(f"there is no policy {name!r}; known: {', '.join(POLICIES)}")
    return replace(POLICIES[name], **dict(_setting(setting) for setting in settings))


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    names = {field.name.removesuffix("_ms"): field.name for field in fields(Policy)}
    if not equals or key not in names:
        raise BadQuestion(f"{text!r} is no setting of a policy; known: {', '.join(sorted(names))}")
    name = names[key]
    kind = _TYPES[name]
    try:
        return name, _value(kind, name, value)
    except ValueError as error:
        raise BadQuestion(f"{key}: {error}") from None


def _value(kind: Any, name: str, text: str) -> Any:
    if kind is bool:
        if text not in ("yes", "no"):
            raise ValueError(f"yes or no, not {text!r}")
        return text == "yes"
    if name.endswith("_ms"):
        return duration_ms(text, name)
    if issubclass(kind, StrEnum):
        return kind(text)
    return int(text)
