"""Rules of a job's owner: what to do about an ending that they know better. By exit code, by what the program said."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from orchestrator.domain.faults import STRICT, SpecError

MAX_RULES: Final = 20
_LONGEST: Final = 500


class Do(StrEnum):
    """What a rule asks for."""

    RETRY = "retry"
    """Try again within the budget, also where the ending alone would be final."""
    FAIL = "fail"
    """End the job at once, whatever the budgets have left."""


@dataclass(frozen=True, slots=True)
class Rule:
    """It applies when the rank to blame exited with one of the codes, and one of its last lines of stderr holds `log`.

    What is not given asks for nothing. A `*` in `log` stands for anything within the line; no other character is
    special, so that no rule can keep the control plane busy.
    """

    __pydantic_config__ = STRICT

    do: Do
    exit_codes: tuple[int, ...] = ()
    """From 1 to 255, as the program exited; a signal is none."""
    log: str | None = None
    """Looked for in the last 50 lines, e.g. `ECC*uncorrectable`."""

    def __post_init__(self) -> None:
        if not self.exit_codes and self.log is None:
            raise SpecError("", "give exit_codes, log, or both")
        for index, code in enumerate(self.exit_codes):
            if not 1 <= code <= 255:
                raise SpecError(f"exit_codes[{index}]", f"must be 1 to 255, got {code}")
        if self.log is not None and not 1 <= len(self.log.replace("*", "")) <= _LONGEST:
            raise SpecError("log", f"must have 1 to {_LONGEST} characters besides *")

    def applies(self, exit_code: int | None, lines: Sequence[str]) -> bool:
        """Whether a rank that ended so, with these last lines, is meant."""
        if self.exit_codes and exit_code not in self.exit_codes:
            return False
        return self.log is None or any(_holds(line, self.log) for line in lines)


def first_that_applies(rules: Sequence[Rule], exit_code: int | None, lines: Sequence[str]) -> tuple[int, Rule] | None:
    """The first rule that applies, with its place, counted from 0."""
    return next(((at, rule) for at, rule in enumerate(rules) if rule.applies(exit_code, lines)), None)


def _holds(line: str, pattern: str) -> bool:
    at = 0
    for part in pattern.split("*"):
        found = line.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
