"""Configs of the built-in programs. Edges read them with a pydantic TypeAdapter (`api/configs.py`, `jobs`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.domain.faults import SpecError
from orchestrator.domain.programs.presets import TRAIN_PRESETS, merge
from orchestrator.domain.programs.train import TrainConfig

CONFIGS: Final[Mapping[str, type]] = {"train": TrainConfig}
"""Name of the built-in program -> the dataclass of its config."""
PRESETS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {"train": TRAIN_PRESETS}


def fill_in(builtin: str, written: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a config's `preset` with the written ones over them, and without `preset`, which is used up.

    Raises SpecError when there is no such preset. Checks nothing else.
    """
    keys = dict(written)
    if "preset" not in keys:
        return keys
    presets, name = PRESETS[builtin], keys.pop("preset")
    if not isinstance(name, str) or name not in presets:
        raise SpecError("preset", f"{name!r} is not a preset; there are {', '.join(presets)}")
    return merge(presets[name], keys)
