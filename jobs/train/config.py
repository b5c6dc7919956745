"""Reading the job's config: whole, as the orders carry it, with no preset left to fill in."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from orchestrator.domain.faults import SpecError
from orchestrator.domain.programs.train import TrainConfig
from workers.rank.context import RankContext
from workers.rank.failure import InvalidProgram

_CONFIG: TypeAdapter[TrainConfig] = TypeAdapter(TrainConfig)


def read_config(context: RankContext) -> TrainConfig:
    """The job's config. Raises InvalidProgram with the path of what is wrong in it."""
    if context.config is None:
        raise InvalidProgram("PODWRIGHT_CONFIG is not set: train needs a config")
    try:
        return parse(context.config.read_bytes())
    except OSError as error:
        raise InvalidProgram(str(error)) from error


def parse(text: bytes | str) -> TrainConfig:
    """The config that a JSON text spells. Raises InvalidProgram."""
    try:
        return _CONFIG.validate_json(text)
    except ValidationError as error:
        raise InvalidProgram("; ".join(_faults(error))) from error


def _faults(error: ValidationError) -> list[str]:
    said = []
    for details in error.errors(include_url=False):
        path, message = ["config", *details["loc"]], details["msg"]
        cause = details.get("ctx", {}).get("error")
        if isinstance(cause, SpecError):
            path, message = [*path, cause.field], cause.message
        said.append(f"{'.'.join(map(str, path))}: {message}")
    return said
