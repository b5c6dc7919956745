"""`watch` on a terminal: the whole screen, with the curve of the loss and what happened last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from orchestrator.cli.remote.chart import chart
from orchestrator.cli.remote.frame import Frame
from orchestrator.cli.remote.screen import panel
from orchestrator.cli.remote.wording import moment, plain

_EVENTS_SHOWN: Final = 6
_OTHER_LINES: Final = 8
"""Name, bar (two lines where it is narrow), headings, the last line."""
_SMALLEST_CHART: Final = 4
_LARGEST_CHART: Final = 20


@dataclass(frozen=True, slots=True)
class Picture:
    """All that is shown at one moment; it fits itself to the terminal when it is drawn."""

    frame: Frame
    loss: Mapping[str, Any] = field(default_factory=dict)
    """The series as the API has it: `steps` and `values`; empty where there is none."""
    events: Sequence[Mapping[str, Any]] = ()
    note: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = options.max_width, console.size.height
        yield panel(self.frame)
        count = max(0, min(_EVENTS_SHOWN, height - _OTHER_LINES))
        shown = self.events[len(self.events) - min(count, len(self.events)) :]
        room = min(_LARGEST_CHART, height - _OTHER_LINES - len(shown))
        curve = self._curve(width, room) if room >= _SMALLEST_CHART else []
        if curve:
            yield Text("\nloss", "dim")
            yield Text("\n".join(curve), "green", no_wrap=True)
        if shown:
            yield Text()
        for event in shown:
            line = f"{moment(event['at_ms'])[-8:]}  {plain(event['message'] or event['kind'])}"
            yield Text(line, "dim", no_wrap=True, overflow="ellipsis")
        yield Text(f"\n{self.note or 'Ctrl-C leaves the job running'}", "dim", no_wrap=True, overflow="ellipsis")

    def _curve(self, width: int, height: int) -> list[str]:
        steps, values = self.loss.get("steps", ()), self.loss.get("values", ())
        return chart([float(step) for step in steps], [float(value) for value in values], width, height)


class FullScreen:
    """A context that has the terminal to itself, and gives it back as it was."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, screen=True, refresh_per_second=4)
        self._shown: Picture | None = None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._live.stop()

    def show(self, picture: Picture) -> None:
        self._shown = picture
        self._live.update(picture)

    def say(self, line: str) -> None:
        """In place of the last line, until the next picture."""
        if self._shown is not None:
            shown = self._shown
            self._live.update(Picture(shown.frame, shown.loss, shown.events, line))
