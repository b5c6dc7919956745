"""How spans, moments, sizes and states are written on screen."""

import unicodedata
from datetime import UTC, datetime
from typing import Final

STATE_COLOURS: Final = {
    "QUEUED": "yellow",
    "STARTING": "cyan",
    "RUNNING": "green",
    "STOPPING": "yellow",
    "SUCCEEDED": "bold green",
    "FAILED": "bold red",
    "CANCELLED": "magenta",
}

_LAST_MOMENT_MS: Final = 253_402_300_800_000
"""The end of the year 9999."""


def span(milliseconds: int) -> str:
    """`340 ms`, `4.1 s`, `1m 20s`, `2h 05m`, `3d 4h`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    minutes = whole // 60
    if minutes < 48 * 60:
        return f"{minutes // 60}h {minutes % 60:02}m"
    return f"{minutes // 1440}d {minutes % 1440 // 60}h"


def moment(at_ms: int) -> str:
    """In the reader's own time zone, to the second. A time that no calendar has is shown as the number it is."""
    if not 0 <= at_ms < _LAST_MOMENT_MS:
        return f"{at_ms} ms"
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def size(byte_count: int) -> str:
    """`812 B`, `1.5 MiB`."""
    amount = float(byte_count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def steps(step: int | None, total: int | None) -> str:
    """`120/400 (30 %)`, `120`, or nothing."""
    if step is None:
        return ""
    return f"{step:,}/{total:,} ({100 * step // total} %)" if total else f"{step:,}"


def plain(text: str) -> str:
    r"""The text with control and formatting characters, but the tab, written `\x1b`: nothing in it moves the cursor."""
    return text if text.isprintable() else "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character == "\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()
