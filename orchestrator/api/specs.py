"""A job spec from a request's body: every fault comes with its path, and unknown keys with what was probably meant."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import ValidationError

from orchestrator.api.configs import config_faults
from orchestrator.api.faults import faults_of
from orchestrator.domain.errors import Fault, InvalidInput
from orchestrator.domain.faults import MAX_INTEGER, SpecError, large_integers
from orchestrator.domain.job import Slice
from orchestrator.domain.spec import JobSpec, RefusedSpec, parse_priority
from orchestrator.store import strict_json
from orchestrator.store.specs import SPEC, plain_spec

SPEC_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobSpec"}}},
    }
}
"""For the document of the API: such a body is read by `read_spec`, which tells more than a model would."""

_MAX_FAULTS: Final = 20


def read_spec(body: bytes) -> JobSpec:
    """The spec that `body` spells.

    Raises:
        InvalidInput: all that is wrong with it.
    """
    try:
        plain = strict_json.parse(body)
    except strict_json.NotStrictJson as error:
        raise InvalidInput((Fault("", str(error)),)) from None
    program = plain.get("program") if isinstance(plain, Mapping) else None
    if large := tuple(large_integers(plain)):
        said = f"must be between -{MAX_INTEGER} and {MAX_INTEGER}"
        raise InvalidInput(tuple(Fault(path, said) for path in large[:_MAX_FAULTS]))
    faults = config_faults(program)
    try:
        spec = SPEC.validate_json(body)
    except ValidationError as error:
        raise InvalidInput(faults_of(error, plain, JobSpec) + faults) from None
    if faults:
        raise InvalidInput(faults)
    return spec


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
    if isinstance(spec, RefusedSpec):
        return spec_of({**spec.written, **changes}, "spec")
    return spec_of({**plain_spec(spec), **changes}, "changes") if changes else spec


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
