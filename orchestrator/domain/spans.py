"""Spans of time as people write them in a spec."""

import re
from functools import lru_cache
from typing import Final

from orchestrator.domain.faults import SpecError

UNLIMITED: Final = "unlimited"


_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST_MS: Final = 3650 * 86_400_000


@lru_cache(maxsize=4096)  # every tick asks for those of all jobs
def duration_ms(text: str, field_name: str) -> int | None:
    """Read `90s`, `10m`, `2h30m`, `unlimited` (None) as milliseconds. Raises SpecError naming `field_name`."""
    if text == UNLIMITED:
        return None
    if not re.fullmatch(r"(\d{1,9}(ms|s|m|h|d))+", text):
        raise SpecError(field_name, f"{text!r} is not a time span; write e.g. 30s, 10m, 2h30m or unlimited")
    span = sum(int(n) * _UNITS_MS[unit] for n, unit in re.findall(r"(\d+)(ms|s|m|h|d)", text))
    if not 0 < span <= _LONGEST_MS:
        raise SpecError(field_name, f"{text!r} must be more than 0 and at most 3650d")
    return span
