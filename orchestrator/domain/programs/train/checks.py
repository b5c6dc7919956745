"""Rules that several configs share; each raises SpecError naming the field."""

from __future__ import annotations

import math

from orchestrator.domain.faults import SpecError


def positive(config: object, *names: str) -> None:
    """These fields are numbers above 0, or None."""
    for name in names:
        value = getattr(config, name)
        if value is not None and (not value > 0 or math.isinf(value)):
            raise SpecError(name, f"{name}={value} must be more than 0")


def not_negative(config: object, *names: str) -> None:
    """These fields are 0 or more, or None."""
    for name in names:
        value = getattr(config, name)
        if value is not None and (not value >= 0 or math.isinf(value)):
            raise SpecError(name, f"{name}={value} must not be negative")


def fraction(config: object, *names: str, whole: bool = False) -> None:
    """These fields lie within 0 and 1; `whole`: 1 is allowed."""
    for name in names:
        value = getattr(config, name)
        if not (0 <= value < 1 or (whole and value == 1)):
            raise SpecError(name, f"{name}={value} is not within 0 and 1")
