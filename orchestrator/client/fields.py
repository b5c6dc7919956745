"""Every field of a spec, told from its dataclass: type, default, what it is for. For `explain` and the reference."""

import ast
import inspect
import itertools
import textwrap
import types
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from orchestrator.domain.program import Program
from orchestrator.domain.programs import CONFIGS
from orchestrator.domain.spec import JobSpec

_UNIONS: Final = (Union, types.UnionType)
_CONFIG: Final = "config"
"""Where a program's own dataclass begins; `Program` only says that it is a mapping."""


@dataclass(frozen=True, slots=True)
class SpecField:
    """One field. `path` is as faults name it; `default` is None where the field is required."""

    path: str
    kind: str
    """Its type as YAML has it: `text`, `whole number`, `one of spot, on_demand`, `mapping`…"""
    default: str | None
    about: str
    below: tuple["SpecField", ...] = ()

    def walk(self) -> Iterator["SpecField"]:
        """This field and all below it, in the order of their declaration."""
        yield self
        for field in self.below:
            yield from field.walk()


@lru_cache(maxsize=1)
def spec_fields() -> tuple[SpecField, ...]:
    """The top-level fields of a job spec, each with those below it."""
    return _fields_of(JobSpec, "")


def find(path: str) -> SpecField | None:
    """The field at `path`, which may name items of a list: `after.all[0].job`."""
    wanted = ".".join(part.split("[")[0] for part in path.split("."))
    return next((field for top in spec_fields() for field in top.walk() if field.path == wanted), None)


def _fields_of(owner: type, under: str) -> tuple[SpecField, ...]:
    hints, about = get_type_hints(owner), _documented(owner)
    return tuple(_field(owner, field, hints[field.name], about.get(field.name, ""), under) for field in fields(owner))


def _field(owner: type, field: Field[Any], hint: Any, about: str, under: str) -> SpecField:
    path = f"{under}.{field.name}" if under else field.name
    inner = _dataclass_in(hint)
    below = _fields_of(inner, path) if inner is not None else ()
    if owner is Program and field.name == _CONFIG:
        below = tuple(one for config in CONFIGS.values() for one in _fields_of(config, path))
    if not about and inner is not None:
        about = inspect.getdoc(inner) or ""
    if enum := _enum_in(hint):
        about = "\n".join(filter(None, (about or _own_doc(enum), *_members(enum))))
    return SpecField(path, _kind(hint), _default(field), about, below)


def _default(field: Field[Any]) -> str | None:
    if field.default is not MISSING:
        return _shown(field.default)
    if field.default_factory is not MISSING:
        made = field.default_factory()
        return "{}" if is_dataclass(made) else _shown(made)
    return None


def _shown(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case Enum():
            return str(value.value)
        case tuple():
            return "[]" if not value else str(list(value))
        case _ if is_dataclass(value):
            return "{}"
    return str(value)


def _kind(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in _UNIONS:
        kinds = [_kind(one) for one in arguments if one is not type(None)]
        return " or ".join(dict.fromkeys(kinds))
    if origin is Literal:
        return " or ".join(str(one) for one in arguments)
    if origin is tuple:
        return f"list of {_kind(arguments[0])}"
    if origin is dict or is_dataclass(hint):
        return "mapping"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "one of " + ", ".join(str(member.value) for member in hint)
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}.get(hint, "any value")


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for one in get_args(hint):
        yield from _parts(one)


def _dataclass_in(hint: Any) -> type | None:
    return next((one for one in _parts(hint) if isinstance(one, type) and is_dataclass(one)), None)


def _enum_in(hint: Any) -> type[Enum] | None:
    return next((one for one in _parts(hint) if isinstance(one, type) and issubclass(one, Enum)), None)


def _own_doc(enum: type[Enum]) -> str:
    return inspect.cleandoc(enum.__doc__ or "")


def _members(enum: type[Enum]) -> Iterator[str]:
    about = _documented(enum)
    yield from (f"- {member.value}: {about[member.name]}" for member in enum if member.name in about)


def _documented(owner: type) -> dict[str, str]:
    """What the text below each attribute says, which Python itself does not keep."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found: dict[str, str] = {}
    for statement, after in itertools.pairwise(body):
        match statement, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(inspect.cleandoc(text).split())
    return found
