"""Help as plain text, in the groups that commands name: its start must not wait for a library that draws boxes."""

from typing import Any

from typer.core import TyperGroup

_OTHER = "Commands"


class GroupedHelp(TyperGroup):
    """Lists commands below the panel that each was registered with."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[Any]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                panel = getattr(command, "rich_help_panel", None)
                panels.setdefault(panel if isinstance(panel, str) else _OTHER, []).append((name, command))
        widest = max((len(name) for commands in panels.values() for name, _ in commands), default=0)
        for panel, commands in panels.items():
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(widest), _first_sentence(command.help)) for name, command in commands])


def _first_sentence(text: str | None) -> str:
    """Whole: a command is chosen by it."""
    return " ".join((text or "").split("\n\n")[0].split()).partition(". ")[0].rstrip(".")
