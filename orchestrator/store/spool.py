"""What a rank's spool says. One JSON object a line; a line that cannot be read is skipped and counted, never fatal.

Anybody's program may write these lines (`echo … >> $PODWRIGHT_SPOOL`), so nothing about them is taken on trust. In a
`metrics` record only the values that are wrong are skipped; the others of the same record are kept.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from orchestrator.store import strict_json

MAX_LINE_BYTES: Final = 128 * 1024
"""Longer lines are skipped. Half of the smallest share of a post, so that every share gets a spool forward."""
_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")
_KIND: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
MAX_NOTICE: Final = 2_000
"""Characters of a notice's message; the rest is cut off."""
_MAX_INT: Final = 2**63 - 1
_MAX_NAME: Final = 1024
_MAX_AT_MS: Final = 253_402_300_799_999
"""The end of the year 9999: no calendar of those who read it goes further."""
_NO_STEP: Final = ("fresh", "trouble")
_NO_PATH: Final = (*_NO_STEP, "save_failed", "notice")
_EVENTS: Final = ("committed", "restored", "quarantined", *_NO_PATH)
_NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, slots=True)
class Metrics:
    at_ms: int
    step: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Phase:
    at_ms: int
    phase: str
    position: int
    """Of its line in the spool."""


@dataclass(frozen=True, slots=True)
class Step:
    at_ms: int
    step: int
    total_steps: int | None


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    at_ms: int
    event: str
    step: int
    path: str
    bytes: int | None
    step_at_ms: int | None
    save_ms: int | None
    blocked_ms: int | None
    message: str | None = None
    source_job_id: str | None = None
    """Of a restore from another job, which this one continues."""
    unfenced: bool = False
    """Of a commit that the user's program made by itself; no spool says so, the cluster that saw it does."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What a program wants in its job's history: `kind` is a stable word, `message` a sentence for people."""

    at_ms: int
    kind: str
    message: str
    step: int | None


Record = Metrics | Phase | Step | CheckpointReport | Notice


@dataclass(frozen=True, slots=True)
class SpoolPart:
    """What some whole lines of a spool said."""

    records: tuple[Record, ...]
    length: int
    """Bytes that are done with: to the end of the last line that is whole or too long; the rest is being written."""
    invalid: int
    """How many lines, or values in them, were skipped."""


class _Invalid(ValueError):
    """A line or value of a wrong type."""


def read_spool(data: bytes, offset: int, grows: bool = True, final: bool = False) -> SpoolPart:
    """Read the whole lines of `data`, which begins at byte `offset` of its spool and at the beginning of a line.

    A last line without its end is whole too if it is `final`, or if it is all that there is of a spool that no longer
    grows: else its sender would offer it for ever.
    """
    length = data.rfind(b"\n") + 1
    # A line that is too long already is not waited for: it might never be whole within what one post may hold.
    if final or (not length and not grows) or len(data) - length > MAX_LINE_BYTES:
        length = len(data)
    records: list[Record] = []
    invalid, position = 0, offset
    for line in _LINE.findall(data[:length]):
        try:
            found, skipped = _read_line(line, position)
        except ValueError:
            found, skipped = None, 1
        if found is not None:
            records.append(found)
        invalid += skipped
        position += len(line)
    return SpoolPart(tuple(records), length, invalid)


def _read_line(line: bytes, position: int) -> tuple[Record | None, int]:
    """The line's record, and how many of its values were skipped. A `failure` is the supervisor's to read, not ours."""
    if not line.strip():
        return None, 0
    if len(line) > MAX_LINE_BYTES:
        raise _Invalid
    fields = strict_json.parse(line)
    if not isinstance(fields, dict):
        raise _Invalid
    match fields.get("type"):
        case "metrics":
            return _metrics(fields)
        case "phase":
            return Phase(_at_ms(fields), _text(fields, "phase"), position), 0
        case "progress":
            return Step(_at_ms(fields), _count(fields, "step"), _optional_count(fields, "total_steps")), 0
        case "checkpoint":
            return _checkpoint(fields), 0
        case "event":
            return _notice(fields), 0
        case "failure":
            return None, 0
    raise _Invalid


def _metrics(fields: Mapping[str, Any]) -> tuple[Metrics, int]:
    values = fields.get("values")
    if not isinstance(values, dict):
        raise _Invalid
    kept: dict[str, float] = {}
    for name, value in values.items():
        number = _number(value)
        if number is not None and 1 <= len(name) <= _MAX_NAME and "\0" not in name:
            kept[name] = number
    return Metrics(_at_ms(fields), _count(fields, "step"), kept), len(values) - len(kept)


def _checkpoint(fields: Mapping[str, Any]) -> CheckpointReport:
    event = fields.get("event")
    if event not in _EVENTS:
        raise _Invalid
    return CheckpointReport(
        at_ms=_at_ms(fields),
        event=event,
        step=0 if event in _NO_STEP else _count(fields, "step"),
        path="" if event in _NO_PATH else _text(fields, "path"),
        bytes=_optional_count(fields, "bytes"),
        step_at_ms=None if fields.get("step_at_ms") is None else _at_ms(fields, "step_at_ms"),
        save_ms=_optional_count(fields, "save_ms"),
        blocked_ms=_optional_count(fields, "blocked_ms"),
        message=_optional_text(fields, "message"),
        source_job_id=_optional_text(fields, "source_job_id"),
    )


def _notice(fields: Mapping[str, Any]) -> Notice:
    kind = _text(fields, "kind")
    if not _KIND.fullmatch(kind):
        raise _Invalid
    message = _text(fields, "message")[:MAX_NOTICE]
    return Notice(_count(fields, "at_ms"), kind, message, _optional_count(fields, "step"))


def _number(value: object) -> float | None:
    if isinstance(value, str):
        return _NOT_FINITE.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _count(fields: Mapping[str, Any], key: str) -> int:
    value = fields.get(key)
    if not _is_count(value):
        raise _Invalid
    return value


def _at_ms(fields: Mapping[str, Any], key: str = "at_ms") -> int:
    value = _count(fields, key)
    if value > _MAX_AT_MS:
        raise _Invalid
    return value


def _optional_count(fields: Mapping[str, Any], key: str) -> int | None:
    return None if fields.get(key) is None else _count(fields, key)


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not 1 <= len(value) <= 4096 or "\0" in value:
        raise _Invalid
    return value


def _optional_text(fields: Mapping[str, Any], key: str) -> str | None:
    return None if fields.get(key) is None else _text(fields, key)


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_INT
