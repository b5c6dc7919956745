"""Shows a job live: a bar that stays in place on a terminal, one line per milestone in a pipe."""

from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestrator.cli.remote.frame import Frame
from orchestrator.cli.remote.wording import STATE_COLOURS, steps

_BAR_WIDTH: Final = 18
"""Leaves room for all the numbers on a line of 80."""


class Screen:
    """A context: `show` a frame as often as you like, `say` a line that stays."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._milestone: tuple[object, ...] | None = None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def show(self, frame: Frame) -> None:
        if self._live:
            self._live.update(panel(frame))
        elif frame.milestone != self._milestone:
            self._console.print(frame.line, soft_wrap=True)
        self._milestone = frame.milestone

    def say(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)


def panel(frame: Frame) -> Group:
    """Its name and state, a bar, and what is measured."""
    head = Text.assemble((frame.name, "bold"), "  ", (frame.state, STATE_COLOURS.get(frame.state, "")))
    if frame.attempt:
        head.append(f"  attempt {frame.attempt}" + (f" on {' '.join(frame.slices)}" if frame.slices else ""))
    if frame.phase:
        head.append(f"  {frame.phase}", "dim")
    facts = [f"step {made}" for made in [steps(frame.step, frame.total_steps)] if made] + frame.measured
    if frame.committed_step is not None:
        facts.append(f"committed {frame.committed_step:,}")
    row = Table.grid(padding=(0, 2))
    bar = ProgressBar(frame.total_steps or 1, frame.step or 0, width=_BAR_WIDTH, complete_style="green")
    row.add_row(bar, "  ".join(facts) or frame.message)
    return Group(head, row)
