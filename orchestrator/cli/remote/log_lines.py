"""Log bytes of many ranks as lines for a terminal: whole, with their rank, and nothing that moves the cursor."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import typer
from rich.text import Text

from orchestrator.cli.remote.output import console
from orchestrator.cli.remote.wording import plain

COLOURS: Final = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta", "bright_green")
"""One per rank, in turn. Red is left for errors."""

_LONGEST_BYTES: Final = 64 * 1024
"""A longer line is shown in parts: a program may write gigabytes without a line feed."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that a rank wrote."""

    attempt: int
    rank: int
    stream: str
    line: bytes


class LineSplitter:
    """Cuts one stream into lines as its bytes arrive; the unfinished end is kept for the next piece."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that `piece` completes. A carriage return ends a line too: progress bars have nothing else."""
        *lines, self._rest = re.split(rb"\r\n|\n|\r(?!\Z)", self._rest + piece)
        yield from lines
        while len(self._rest) > _LONGEST_BYTES:
            yield self._rest[:_LONGEST_BYTES]
            self._rest = self._rest[_LONGEST_BYTES:]

    def flush(self) -> Iterator[bytes]:
        """What is left when the stream has ended."""
        if self._rest:
            yield self._rest.rstrip(b"\r")
        self._rest = b""


def readable(line: bytes) -> str:
    r"""The line as safe text; bytes that are not UTF-8 are written `\xff`."""
    return plain(line.decode(errors="backslashreplace"))


def with_rank(rank: int, line: bytes, width: int = 1) -> Text:
    """`12| the line`, the prefix in the rank's colour."""
    return Text.assemble((f"{rank:>{width}}| ", COLOURS[rank % len(COLOURS)]), readable(line))


def print_lines(lines: Iterable[LogLine], as_json: bool) -> None:
    """Print lines as they come; a note tells where a later attempt begins."""
    shown = console()
    newest: int | None = None
    for line in lines:
        if as_json:
            row = {"attempt": line.attempt, "rank": line.rank, "stream": line.stream, "line": readable(line.line)}
            print(json.dumps(row, ensure_ascii=False), flush=True)
            continue
        if newest is not None and line.attempt != newest:
            typer.echo(f"--- attempt {line.attempt} ---", err=True)
        newest = line.attempt
        # Long lines are left to the terminal to wrap: a line that was copied must be the line that was written.
        shown.print(with_rank(line.rank, line.line), soft_wrap=True)
