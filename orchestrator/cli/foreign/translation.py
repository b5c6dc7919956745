"""What came of a foreign file: a spec, and a note for each thing that the spec does not hold."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from orchestrator.domain.topology import parse_choices


class CannotTranslate(ValueError):
    """The file is not what it was said to be."""


@dataclass(frozen=True, slots=True)
class Note:
    """One thing left out. `line` counts from 1; 0 where no single line says it."""

    line: int
    what: str
    why: str


@dataclass(slots=True)
class Translation:
    """Filled in by a reader of one format. Keys keep the order in which they were set."""

    spec: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def leave(self, line: int, what: str, why: str) -> None:
        self.notes.append(Note(line, what, why))

    def env(self, name: str, value: object) -> None:
        self.spec.setdefault("env_vars", {})[name] = str(value)

    def run_script(self, script: str) -> None:
        """Each host runs the script in a shell that stops at the first command that fails."""
        self.spec["program"] = {"command": ["bash", "-euo", "pipefail", "-c", script]}

    def request(self, slices: str | None, line: int, said: str) -> None:
        """Take `slices` if we know them; else a placeholder which submit refuses, and a note."""
        try:
            parse_choices(slices or "")
        except ValueError:
            self.leave(line, said, "say which slices: --slices v5e:4x4, or edit the line")
            slices = "SLICES"
        self.spec["slices"] = slices

    def yaml(self) -> str:
        ordered = {key: self.spec[key] for key in (*_FIRST, *self.spec) if key in self.spec}
        return yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


_FIRST = ("name", "project", "program", "slices", "capacity", "priority")


class _Dumper(yaml.SafeDumper):
    """Scripts as blocks, so that they can be read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def job_name(text: str) -> str:
    """`text` as a name that we take."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text.lower()).strip("._-")
    return kept[:63].rstrip("._-") or "job"


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Lines with the number of their first one; a backslash at the end joins the next."""
    start, held = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        start = start or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        yield start, held + line
        start, held = 0, ""
    if held:
        yield start, held


def mapping_at(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping under `key`; an absent one is empty. Raises CannotTranslate when something else is there."""
    found = data.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise CannotTranslate(f"{key} is not a mapping")
    return found
