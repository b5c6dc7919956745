"""Lists of plain things: the fields that a command names, as columns; or the API's answer as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.cli.remote.output import console, print_json


def show_list(items: Sequence[Mapping[str, Any]], fields: Sequence[str], empty: str, as_json: bool) -> None:
    """`fields` are keys of the answer; those that end in `_ms` are moments."""
    if as_json:
        print_json(list(items))
        return
    if not items:
        print(empty)
        return
    from orchestrator.cli.remote.tables import columns

    table = columns(*(field.removesuffix("_at_ms").replace("_", " ") for field in fields))
    for item in items:
        table.add_row(*(_cell(field, item.get(field)) for field in fields))
    console().print(table)


def _cell(field: str, value: object) -> str:
    from orchestrator.cli.remote.wording import moment, plain

    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else ""
        case int() if field.endswith("_ms"):
            return moment(value)
        case list() | tuple():
            return ", ".join(plain(str(one)) for one in value)
    return plain(str(value))
