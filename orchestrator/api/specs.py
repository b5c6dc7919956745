"""A job spec from a request's body: every fault comes with its path, and unknown keys with what was probably meant."""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, get_type_hints

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from orchestrator.domain.errors import Fault, InvalidInput
from orchestrator.domain.job import Slice
from orchestrator.domain.spec import JobSpec, SpecError, parse_priority
from orchestrator.store import strict_json
from orchestrator.store.rows import SPEC

SPEC_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobSpec"}}},
    }
}
"""For the document of the API: such a body is read by `read_spec`, which tells more than a model would."""


def read_spec(body: bytes) -> JobSpec:
    """The spec that `body` spells.

    Raises:
        InvalidInput: all that is wrong with it.
    """
    try:
        plain = strict_json.parse(body)
    except strict_json.NotStrictJson as error:
        raise InvalidInput((Fault("", str(error)),)) from None
    try:
        return SPEC.validate_json(body)
    except ValidationError as error:
        raise InvalidInput(_faults(error.errors(include_url=False), plain)) from None


def spec_of(plain: Mapping[str, Any], path: str) -> JobSpec:
    """The spec that an object within a body spells; `path` is where it is.

    Raises:
        InvalidInput: all that is wrong with it.
    """
    try:
        return read_spec(json.dumps(plain).encode())
    except InvalidInput as error:
        raise InvalidInput(
            tuple(Fault(f"{path}.{one.path}".rstrip("."), one.message) for one in error.faults)
        ) from None


def changed_spec(spec: JobSpec, changes: Mapping[str, Any]) -> JobSpec:
    """The spec with other values for some of its fields.

    Raises:
        InvalidInput: it would not be a spec.
    """
    return spec_of({**SPEC.dump_python(spec, mode="json"), **changes}, "changes") if changes else spec


def checked_priority(text: str) -> str:
    """`text`, if it is a priority.

    Raises:
        InvalidInput: it is none.
    """
    try:
        parse_priority(text)
    except SpecError as error:
        raise InvalidInput((Fault(error.field, error.message),)) from None
    return text


def refuse_unknown_shapes(spec: JobSpec, slices: Iterable[Slice]) -> None:
    """Refuse what no pool here could ever run. Before any slice has come up nothing is known, and everything may wait.

    Raises:
        InvalidInput: none of the spec's choices has as many slices of its shape; the fault lists what there is.
    """
    counts: dict[str, int] = {}
    for known in slices:
        counts[str(known.shape)] = counts.get(str(known.shape), 0) + 1
    if counts and not any(counts.get(str(choice.shape), 0) >= choice.count for choice in spec.choices):
        there_is = ", ".join(f"{count}*{shape}" for shape, count in sorted(counts.items()))
        asked = " or ".join(map(str, spec.choices))
        raise InvalidInput((Fault("slices", f"no pool has {asked}; there is {there_is}"),))


def _faults(errors: Iterable[ErrorDetails], plain: object) -> tuple[Fault, ...]:
    messages: dict[str, list[str]] = {}
    for error in errors:
        path, message = _fault(error, plain)
        if message not in messages.setdefault(path, []):
            messages[path].append(message)
    # A field of several types fails once for each of them; its reader wants one line.
    return tuple(Fault(path, "; or ".join(said)) for path, said in messages.items())


def _fault(error: ErrorDetails, plain: object) -> tuple[str, str]:
    steps = _steps_in(error["loc"], plain, whole=error["type"] == "missing")
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, SpecError):
        return _join([*steps, cause.field]) + _path_in_config(cause), cause.message
    if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return _join(steps), _unknown_key(steps)
    return _join(steps), f"{error['msg']}{_got(error['input'])}"


def _path_in_config(cause: SpecError) -> str:
    """The reader of a built-in program's config begins its message with the path: `config.model: D=100 is not …`."""
    found = re.match(r"config((?:\.\w+|\[\d+\])*)(?:: (\w+)=)?", cause.message) if cause.field == "config" else None
    return found[1] + (f".{found[2]}" if found[2] else "") if found else ""


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


def _unknown_key(steps: list[int | str]) -> str:
    known = _known_keys(steps[:-1])
    near = difflib.get_close_matches(str(steps[-1]), known, n=1)
    return f"unknown key; did you mean {near[0]!r}?" if near else f"unknown key; known: {', '.join(known)}"


def _known_keys(steps: Iterable[int | str]) -> list[str]:
    kind: Any = JobSpec
    for step in steps:
        kind = get_type_hints(kind).get(str(step)) if is_dataclass(kind) else None
    return [field.name for field in fields(kind)] if is_dataclass(kind) else []


def _got(value: object) -> str:
    if not isinstance(value, str | int | float | bool | None):
        return ""
    return f", got {written}" if len(written := json.dumps(value)) <= 80 else ""
