"""Artifacts: files that a program leaves in its output folder. How much of them is kept, and what a glimpse shows."""

import base64
import csv
import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

MIB: Final = 1 << 20
MAX_FILE_BYTES: Final = 256 * MIB
MAX_RANK_BYTES: Final = 1024 * MIB
MAX_RANK_FILES: Final = 1_000
"""Of one rank of one attempt, as the sizes above."""

HEAD_BYTES: Final = 64 * 1024
IMAGE_BYTES: Final = MIB
MAX_ROWS: Final = 50
MAX_CELL: Final = 200
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_TABLES: Final = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of a file, as something that can be shown without trusting it."""

    kind: Literal["text", "json", "table", "png", "binary"]
    truncated: bool
    """There is more than is shown."""
    text: str | None = None
    value: Any = None
    """Of a JSON file that is short enough to be read whole."""
    rows: tuple[tuple[str, ...], ...] | None = None
    image: str | None = None
    """Base64."""


def refusal(size: int, files: int, total: int) -> str | None:
    """Why a file of `size` bytes is not kept beside `files` of `total` bytes; None: it is."""
    if size > MAX_FILE_BYTES:
        return f"{size} bytes; a file may have {MAX_FILE_BYTES}"
    if files >= MAX_RANK_FILES:
        return f"a rank may leave {MAX_RANK_FILES} files"
    if total + size > MAX_RANK_BYTES:
        return f"all files of a rank together may have {MAX_RANK_BYTES} bytes"
    return None


def preview(path: str, head: bytes, size: int, parse_json: Callable[[bytes], Any]) -> Preview:
    """A glimpse of the file; `head` is its beginning, at most `IMAGE_BYTES`. `parse_json` raises ValueError."""
    if head.startswith(_PNG):
        whole = len(head) == size
        return Preview("png", not whole, image=base64.b64encode(head).decode() if whole else None)
    shown = head[:HEAD_BYTES]
    truncated = len(shown) < size
    text = _text(shown, truncated)
    if text is None:
        return Preview("binary", truncated)
    suffix = path[path.rfind(".") :].lower()
    if suffix == ".json" and not truncated:
        with suppress(ValueError):
            return Preview("json", False, value=parse_json(shown))
    if suffix in _TABLES and (rows := _rows(text, _TABLES[suffix], truncated)):
        return Preview("table", truncated or len(rows) > MAX_ROWS, rows=rows[:MAX_ROWS])
    return Preview("text", truncated, text=text)


def _text(data: bytes, cut: bool) -> str | None:
    """UTF-8, of which the cut may have split the last character; None if it is something else."""
    for shorter in range(4 if cut else 1):
        try:
            text = data[: len(data) - shorter].decode()
        except UnicodeDecodeError:
            continue
        return None if "\0" in text else text
    return None


def _rows(text: str, delimiter: str, cut: bool) -> tuple[tuple[str, ...], ...]:
    lines = io.StringIO(text.rpartition("\n")[0] if cut else text)
    rows: list[tuple[str, ...]] = []
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            rows.append(tuple(cell[:MAX_CELL] for cell in row))
            if len(rows) > MAX_ROWS:
                break
    except csv.Error:
        return ()
    return tuple(rows)
