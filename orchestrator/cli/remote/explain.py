"""`explain [PATH]`: what a field of a job spec is for, without a control plane."""

import difflib
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.output import JsonOption, console, print_json

if TYPE_CHECKING:
    from orchestrator.client.fields import SpecField


def complete_path(incomplete: str) -> list[str]:
    """Paths that begin so, for the shell."""
    from orchestrator.client.fields import spec_fields

    return [one.path for top in spec_fields() for one in top.walk() if one.path.startswith(incomplete)]


def explain(
    path: Annotated[
        str | None,
        typer.Argument(metavar="[PATH]", help="e.g. checkpoint.keep_best", autocompletion=complete_path),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a field of a job spec: its type, its default, what it does. Without PATH: all top-level fields."""
    from orchestrator.client.fields import find, spec_fields

    if path is None:
        found = spec_fields()
        _show(list(found), as_json)
        return
    field = find(path)
    if field is None:
        raise CommandFailed(_unknown(path), Exit.USAGE)
    if as_json:
        print_json(asdict(field))
        return
    console().print("\n".join(_page(field)), soft_wrap=False)
    if field.below:
        console().print()
        _show(list(field.below), as_json=False)


def _unknown(path: str) -> str:
    from orchestrator.client.fields import spec_fields

    paths = [one.path for top in spec_fields() for one in top.walk()]
    last = path.rsplit(".", 1)[-1]
    near = difflib.get_close_matches(path, paths, 1) or [one for one in paths if one.rsplit(".", 1)[-1] == last]
    said = f"; did you mean {near[0]}?" if near else "; see all with: podwright explain"
    return f"a job spec has no field {path}{said}"


def _page(field: "SpecField") -> Iterator[str]:
    default = "required" if field.default is None else f"default: {field.default}"
    yield f"{field.path}   {field.kind}, {default}"
    yield from (f"  {line}" for line in field.about.splitlines())


def _show(fields: "list[SpecField]", as_json: bool) -> None:
    if as_json:
        print_json([asdict(field) for field in fields])
        return
    from orchestrator.cli.remote.tables import columns

    table = columns("field", "type", "default", "about")
    for field in fields:
        about = field.about.splitlines()
        table.add_row(field.path, field.kind, field.default if field.default is not None else "required", *about[:1])
    console().print(table)
