"""The three files that a rank leaves behind: its spool, stdout and stderr; read by byte offset, and for evidence."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from orchestrator.domain.incident import Claim
from workers.host.messages import STREAMS, Stream

FILES: Final[dict[Stream, str]] = {"spool": "spool.jsonl", "stdout": "stdout.log", "stderr": "stderr.log"}
TAIL_LINES: Final = 50
TAIL_BYTES: Final = 8 * 1024
LONGEST_CLAIM: Final = 2_000
_SURROGATE_OR_NUL: Final = re.compile("[\ud800-\udfff\0]")
EVIDENCE_BYTES: Final = 256 * 1024
"""How far back in a spool the last step and a claim are looked for."""


def read(folder: Path, stream: Stream, offset: int, limit: int) -> bytes:
    """At most `limit` bytes from `offset`; empty where there are none yet, or no file."""
    try:
        with (folder / FILES[stream]).open("rb") as file:
            file.seek(offset)
            return file.read(limit)
    except FileNotFoundError:
        return b""


def sizes(folder: Path) -> dict[Stream, int]:
    """How many bytes each stream holds now."""
    return {stream: _size(folder / FILES[stream]) for stream in STREAMS}


def stderr_tail(folder: Path) -> tuple[str, ...]:
    """The last 50 lines of stderr, at most 8 KiB, newest last; what is not UTF-8 becomes replacement characters."""
    text = _end_of(folder / FILES["stderr"], TAIL_BYTES).decode("utf-8", errors="replace")
    return tuple(clean(text).splitlines()[-TAIL_LINES:])


def spool_evidence(folder: Path) -> tuple[int | None, Claim | None, str | None]:
    """The last step that the spool names, the program's word on its own end if it is the last line, the last phase."""
    lines = list(records(_end_of(folder / FILES["spool"], EVIDENCE_BYTES)))
    step = next((line["step"] for line in reversed(lines) if is_step(line.get("step"))), None)
    phase = next((clean(str(line.get("phase")))[:64] for line in reversed(lines) if line.get("type") == "phase"), None)
    claim = None
    if lines and lines[-1].get("type") == "failure":
        reason, message = (clean(str(lines[-1].get(key, "")))[:LONGEST_CLAIM] for key in ("reason", "message"))
        claim = Claim(reason, message)
    return step, claim, phase


def clean(text: str) -> str:
    """The text without what neither UTF-8 nor a database can hold: lone surrogates (JSON may spell them) and NUL."""
    return _SURROGATE_OR_NUL.sub("\N{REPLACEMENT CHARACTER}", text)


def is_step(value: object) -> bool:
    """Whether the value may be a number of steps."""
    return type(value) is int and 0 <= value < 2**63


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines. A shell script may write anything here, and a kill may leave half a line."""
    for line in data.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _end_of(path: Path, limit: int) -> bytes:
    size = _size(path)
    if size == 0:
        return b""
    with path.open("rb") as file:
        file.seek(max(0, size - limit))
        data = file.read(limit)
    # The first line is cut in two unless the file began within reach.
    return data if size <= limit else data.partition(b"\n")[2] or data


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
