"""Builds a config dataclass from plain data (JSON, YAML, `--set`), and says precisely what does not fit."""

from __future__ import annotations

import difflib
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Config = TypeVar("Config")


def build(kind: type[Config], data: Mapping[str, Any], path: str = "config") -> Config:
    """A `kind` with the values of `data`, defaults elsewhere.

    Fields may be int, float, str, bool, an Enum (by value), a nested dataclass, `tuple[X, ...]` and `X | None`.
    Raises ValueError: an unknown key (with the key that was probably meant), a value of another type, or what the
    dataclass itself refuses, each with its path.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"{path} must be a mapping, not {data!r}")
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # `kind` is a dataclass by contract
    for key in data:
        if key not in names:
            near = difflib.get_close_matches(str(key), names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(names)}"
            raise ValueError(f"{path}.{key} is not a setting; {hint}")
    values = {key: _value(hints[key], value, f"{path}.{key}") for key, value in data.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, mapping by mapping."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _value(hint: Any, value: Any, path: str) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        return None if value is None and len(options) < len(get_args(hint)) else _value(options[0], value, path)
    if get_origin(hint) is tuple:
        if isinstance(value, str) or not isinstance(value, list | tuple):
            raise ValueError(f"{path} must be a list, not {value!r}")
        return tuple(_value(get_args(hint)[0], item, f"{path}[{index}]") for index, item in enumerate(value))
    if isinstance(hint, type) and is_dataclass(hint):
        return value if isinstance(value, hint) else build(hint, value, path)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _member(hint, value, path)
    return _scalar(hint, value, path)


def _member(kind: type[Enum], value: Any, path: str) -> Enum:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(member.value) for member in kind)
        raise ValueError(f"{path}={value!r} is not one of {known}") from None


def _scalar(kind: type, value: Any, path: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    raise ValueError(f"{path}={value!r} is not of type {kind.__name__}")
