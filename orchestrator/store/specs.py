"""Specs as they are stored. One that an earlier version took can always be read, whatever this version says of it."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, Final, get_type_hints

from pydantic import TypeAdapter, ValidationError

from orchestrator.domain.faults import SpecError
from orchestrator.domain.program import Program
from orchestrator.domain.spec import JobSpec, RefusedSpec

SPEC: Final = TypeAdapter(JobSpec)
_FIELDS: Final[Mapping[str, TypeAdapter[Any]]] = {
    name: TypeAdapter(kind)
    for name, kind in get_type_hints(JobSpec).items()
    if name in {one.name for one in fields(JobSpec)}
}
_NOTHING: Final = JobSpec(name="unreadable", program=Program(command=("false",)), slices="v5e:1x1")


def plain_spec(spec: JobSpec) -> dict[str, Any]:
    """The spec as plain data, as it would be submitted anew."""
    return dict(spec.written) if isinstance(spec, RefusedSpec) else SPEC.dump_python(spec, mode="json")


@lru_cache(maxsize=4096)
def read_spec(text: str) -> JobSpec:
    """The spec that is stored as `text`: a `RefusedSpec` if this version refuses it."""
    # A spec never changes, and every tick reads those of all jobs that are not over.
    try:
        return SPEC.validate_json(text)
    except ValidationError as error:
        return _salvaged(json.loads(text), _why(error))


def _salvaged(written: Mapping[str, Any], why: str) -> RefusedSpec:
    """Each field by itself, where it can be understood, else its default."""
    understood: dict[str, Any] = {one.name: getattr(_NOTHING, one.name) for one in fields(JobSpec)}
    for name, kind in _FIELDS.items():
        if name in written:
            try:
                value = kind.validate_json(json.dumps(written[name]))
                replace(_NOTHING, **{name: value})
            except (ValidationError, SpecError):
                continue
            understood[name] = value
    # Whose job it is was never in doubt, whatever may be thought of the text.
    understood |= {name: written[name] for name in ("name", "project") if isinstance(written.get(name), str)}
    return RefusedSpec(**understood, written=written, why=why)


def _why(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    cause = first.get("ctx", {}).get("error")
    place = [str(part) for part in first["loc"]]
    if isinstance(cause, SpecError):
        return f"{'.'.join([*place, cause.field])}: {cause.message}"[:500]
    return f"{'.'.join(place)}: {first['msg']}"[:500]
