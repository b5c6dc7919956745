"""Where answers go: tables for people, JSON for programs. A pipe gets plain and wide text."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:  # its import takes a third of the time that the help takes
    from rich.console import Console

JsonOption = Annotated[bool, typer.Option("--json", help="Print the API's answer as JSON.")]

_PIPE_WIDTH: Final = 240


def console() -> "Console":
    """Highlighting is off: only our own styles colour anything."""
    from rich.console import Console

    shown = Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
    if not shown.is_terminal:
        shown.width = _PIPE_WIDTH
    return shown


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False), flush=True)
