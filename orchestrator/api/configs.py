"""The configs of built-in programs: checked as written when a job is submitted, sent whole with its orders."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from orchestrator.api.faults import faults_of
from orchestrator.domain.errors import Fault
from orchestrator.domain.faults import SpecError
from orchestrator.domain.programs import CONFIGS, fill_in

_READERS: Final[Mapping[str, TypeAdapter[Any]]] = {name: TypeAdapter(kind) for name, kind in CONFIGS.items()}
_PATH: Final = "program.config"


def config_faults(program: object) -> tuple[Fault, ...]:
    """What is wrong with the config of `program`, a spec's own as plain data; nothing if it is no built-in with one."""
    if not isinstance(program, Mapping) or program.get("builtin") not in list(_READERS):
        return ()
    builtin, written = program["builtin"], program.get("config") or {}
    if not isinstance(written, Mapping):
        return ()  # the spec's own reader says so
    try:
        filled = fill_in(builtin, written)
    except SpecError as error:
        return (Fault(f"{_PATH}.{error.field}", error.message),)
    try:
        _read(builtin, filled)
    except ValidationError as error:
        return faults_of(error, filled, CONFIGS[builtin], under=_PATH)
    return ()


def whole_config(builtin: str, written: Mapping[str, Any]) -> str:
    """The config as JSON with its preset and all defaults filled in: what a rank reads.

    One that was accepted by an earlier version and is refused by this one goes as it is, for the rank to end the job
    with `invalid_program`: orders are of a whole cluster, and one job must not hold back the others'.
    """
    try:
        filled = fill_in(builtin, written)
        return _READERS[builtin].dump_json(_read(builtin, filled)).decode()
    except (SpecError, ValidationError):
        return json.dumps(written, allow_nan=False)


def _read(builtin: str, filled: Mapping[str, Any]) -> Any:
    # From JSON, in which strict types let lists be tuples and texts be members of an Enum.
    return _READERS[builtin].validate_json(json.dumps(filled, allow_nan=False))
