"""How a provider sells a slice, and which kinds a job accepts."""

from collections.abc import Sequence
from enum import StrEnum


class Capacity(StrEnum):
    """How the provider sells a slice, and which kinds a job accepts."""

    ANY = "any"
    SPOT = "spot"
    ON_DEMAND = "on_demand"
    RESERVED = "reserved"


def check_kinds(kinds: Sequence[Capacity]) -> str | None:
    """What is wrong with a list of kinds, best first; None: nothing."""
    if not kinds:
        return "name at least one kind, e.g. spot, or leave it out"
    twice = next((kind for index, kind in enumerate(kinds) if kind in kinds[:index]), None)
    if twice is not None:
        return f"{twice} is given twice"
    if Capacity.ANY in kinds[:-1]:
        return "what follows any would never be asked for: write any last, or leave it out"
    return None
