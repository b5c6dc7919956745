"""A job spec as a YAML file: its values, and on which line each field stands, so that a fault can be found."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.domain.errors import Fault

_MAX_BYTES: Final = 1_000_000
"""A spec of this size is a mistake, usually a data file given by accident."""
_MAX_FIELDS: Final = 20_000
"""Nested aliases make millions of fields out of a few lines."""


@dataclass(frozen=True, slots=True)
class SpecFile:
    """What a file holds. `lines` maps a field's path, as faults name it, to its line, counted from 1."""

    name: str
    data: dict[str, Any]
    lines: Mapping[str, int]

    def place(self, path: str) -> str:
        """`job.yaml:3: slices`; a field that is not in the file gets the line of what it would be part of."""
        above = path
        while above and above not in self.lines:
            above = re.sub(r"(\.[^.\[]*|\[\d+\]|^[^.\[]*)$", "", above)
        line = f":{self.lines[above]}" if above else ""
        return f"{self.name}{line}: {path}" if path else f"{self.name}{line}"


def read_spec_file(path: Path) -> SpecFile:
    """Read a spec.

    Raises:
        CommandFailed: there is no such file, it is not YAML, it names a key twice, or it is not a mapping.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise CommandFailed(f"cannot read {path}: {(error.strerror or str(error)).lower()}", Exit.USAGE) from None
    if len(raw) > _MAX_BYTES:
        raise CommandFailed(f"{path} has {len(raw)} bytes; a job spec has at most {_MAX_BYTES}", Exit.USAGE)
    return parse_spec(str(path), raw)


def parse_spec(name: str, raw: bytes) -> SpecFile:
    """As `read_spec_file`, of text that is already here."""
    try:
        loader = yaml.SafeLoader(raw)
        root = loader.get_single_node()
        places = list(itertools.islice(_lines(name, root, ""), _MAX_FIELDS + 1)) if root else []
        if len(places) > _MAX_FIELDS:
            raise CommandFailed(f"{name} has more than {_MAX_FIELDS} fields, aliases written out", Exit.USAGE)
        data = loader.construct_document(root) if root else None
    except UnicodeDecodeError:
        raise CommandFailed(f"{name} is not UTF-8 text", Exit.USAGE) from None
    except yaml.reader.ReaderError as error:
        raise CommandFailed(f"{name} is not YAML text: {error.reason}", Exit.USAGE) from None
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CommandFailed(f"{name}{line}: not valid YAML: {error.problem}", Exit.USAGE) from None
    except (ValueError, RecursionError):  # a date that does not exist; thousands of brackets
        raise CommandFailed(f"{name}: not valid YAML", Exit.USAGE) from None
    if not isinstance(data, dict):
        raise CommandFailed(f"{name}: a job spec is a mapping with name, program and slices", Exit.USAGE)
    return SpecFile(name, data, dict(places))


def with_lines(spec: SpecFile, faults: tuple[Fault, ...]) -> str:
    """One line per fault, each with its place in the file."""
    return "\n".join(f"{spec.place(fault.path)}: {fault.message}" for fault in faults)


def _lines(name: str, node: yaml.Node, path: str) -> Iterator[tuple[str, int]]:
    if path:
        yield path, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _lines(name, item, f"{path}[{index}]")
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            label = str(key.value)
            if label in seen:
                raise CommandFailed(f"{name}:{line}: {label} is already given on line {seen[label]}", Exit.USAGE)
            seen[label] = line
            below = f"{path}.{label}" if path else label
            yield from _lines(name, value, below)
            yield below, line  # the key's own line counts: a value may begin below it
