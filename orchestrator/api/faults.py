"""What pydantic found wrong, as faults: each with its path, and unknown keys with what was probably meant."""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from orchestrator.domain.errors import Fault
from orchestrator.domain.faults import SpecError


def faults_of(error: ValidationError, plain: object, kind: type, under: str = "") -> tuple[Fault, ...]:
    """All that is wrong with `plain`, which was read as the dataclass `kind` and lies at the path `under`."""
    messages: dict[str, list[str]] = {}
    for details in error.errors(include_url=False):
        path, message = _fault(details, plain, kind)
        said = messages.setdefault(f"{under}.{path}".strip("."), [])
        if message not in said:
            said.append(message)
    # A field of several types fails once for each of them; its reader wants one line.
    return tuple(Fault(path, "; or ".join(said)) for path, said in messages.items())


def _fault(error: ErrorDetails, plain: object, kind: type) -> tuple[str, str]:
    steps = _steps_in(error["loc"], plain, whole=error["type"] == "missing")
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, SpecError):
        return _join([*steps, cause.field]), cause.message
    if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return _join(steps), _unknown_key(steps, kind)
    return _join(steps), f"{error['msg']}{_got(error['input'])}"


def _steps_in(loc: Iterable[int | str], plain: object, whole: bool) -> list[int | str]:
    """The part of pydantic's location that is in the body: it also names the types that it tried."""
    steps: list[int | str] = []
    here: object = plain
    for step in loc:
        if (isinstance(here, Mapping) and step in here) or (
            isinstance(here, list) and isinstance(step, int) and step < len(here)
        ):
            here = here[step]  # type: ignore[index]  # a mapping that has the key, or a list that is long enough
        elif not (whole and isinstance(here, Mapping)):
            continue
        steps.append(step)
    return steps


def _join(steps: Iterable[int | str]) -> str:
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step[:80]}" if step else ""
    return path.removeprefix(".")


def _unknown_key(steps: list[int | str], kind: type) -> str:
    known = _known_keys(steps[:-1], kind)
    near = difflib.get_close_matches(str(steps[-1]), known, n=1)
    return f"unknown key; did you mean {near[0]!r}?" if near else f"unknown key; known: {', '.join(known)}"


def _known_keys(steps: Iterable[int | str], kind: Any) -> list[str]:
    for step in steps:
        kind = get_type_hints(kind).get(str(step)) if is_dataclass(kind) else None
    return [field.name for field in fields(kind)] if is_dataclass(kind) else []


def _got(value: object) -> str:
    if not isinstance(value, str | int | float | bool | None):
        return ""
    return f", got {written}" if len(written := json.dumps(value)) <= 80 else ""
