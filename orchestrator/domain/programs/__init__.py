"""Configs of the built-in programs: read and checked when a job is submitted, and again by the program itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.domain.programs import train

PROGRAMS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {"train": train.parse}
"""Name of the built-in program -> the reader of its config, which raises ValueError with the path of what is wrong."""
