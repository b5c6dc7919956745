"""Slices over time as a picture: one lane per slice, one bar per gang, in the colour of its user. SVG or PNG.

Both are written by hand: a plotting library would be the largest dependency of the control plane, for rectangles.
"""

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from orchestrator.domain.endings import Reason
from orchestrator.domain.ids import SliceId
from orchestrator.simulator.records import Run

Colour = tuple[int, int, int]
_PALETTE: Final[tuple[Colour, ...]] = (
    (78, 121, 167),
    (242, 142, 43),
    (89, 161, 79),
    (176, 122, 161),
    (118, 183, 178),
    (237, 201, 72),
    (156, 117, 95),
    (255, 157, 167),
    (134, 188, 182),
    (186, 176, 172),
)
"""Tableau 10 without its red, which marks gangs that ended badly."""
_BAD: Final[Colour] = (225, 87, 89)
_LABELS: Final = 110
_WIDTH: Final = 1400
_TICKS: Final = 10
_MOST_HEIGHT: Final = 4000


@dataclass(frozen=True, slots=True)
class _Bar:
    """A rectangle in the plot, in pixels."""

    x: float
    width: float
    lane: int
    colour: Colour
    title: str
    ended_badly: bool


@dataclass(frozen=True, slots=True)
class _Plot:
    """What both formats draw."""

    bars: tuple[_Bar, ...]
    lanes: tuple[SliceId, ...]
    lane_px: int
    ticks: tuple[tuple[float, str], ...]
    users: tuple[tuple[str, Colour], ...]

    @property
    def height(self) -> int:
        return self.lane_px * len(self.lanes)


def svg(runs: Sequence[Run], slices: Sequence[SliceId], since_ms: int, until_ms: int) -> str:
    """A standalone SVG with labels; a bar's tooltip names its job, user and end."""
    plot = _plot(runs, slices, since_ms, until_ms)
    legend = 22 + 18 * ((len(plot.users) + 5) // 6)
    total_width, total_height = _LABELS + _WIDTH + 20, plot.height + 40 + legend
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_width}" height="{total_height}" '
        f'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for x, label in plot.ticks:
        at = _LABELS + x
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{plot.height}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{plot.height + 14}" text-anchor="middle">{escape(label)}</text>')
    every = max(1, -(-12 // plot.lane_px))
    for index, slice_id in enumerate(plot.lanes):
        if index % every == 0:
            y = index * plot.lane_px + min(plot.lane_px, 12) - 1
            parts.append(f'<text x="{_LABELS - 6}" y="{y}" text-anchor="end">{escape(slice_id)}</text>')
    for bar in plot.bars:
        edge = f' stroke="rgb{_BAD}" stroke-width="1.5"' if bar.ended_badly else ""
        parts.append(
            f'<rect x="{_LABELS + bar.x:.1f}" y="{bar.lane * plot.lane_px}" width="{max(bar.width, 0.3):.1f}" '
            f'height="{max(1, plot.lane_px - 1)}" fill="rgb{bar.colour}"{edge}>'
            f"<title>{escape(bar.title)}</title></rect>"
        )
    for index, (user, colour) in enumerate(plot.users):
        x, y = _LABELS + index % 6 * 220, plot.height + 28 + index // 6 * 18
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="rgb{colour}"/>')
        parts.append(f'<text x="{x + 17}" y="{y + 10}">{escape(user)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def png(runs: Sequence[Run], slices: Sequence[SliceId], since_ms: int, until_ms: int) -> bytes:
    """The same bars and grid without words, as an 8-bit RGB image."""
    plot = _plot(runs, slices, since_ms, until_ms)
    lanes = [bytearray(b"\xff" * (3 * _WIDTH)) for _ in plot.lanes]
    for lane in lanes:
        for x, _ in plot.ticks:
            _paint(lane, int(x), int(x) + 1, (221, 221, 221))
    for bar in plot.bars:
        begin, end = int(bar.x), max(int(bar.x) + 1, int(bar.x + bar.width))
        _paint(lanes[bar.lane], begin, end, bar.colour)
        if bar.ended_badly:
            _paint(lanes[bar.lane], max(begin, end - 2), end, _BAD)
    gap = b"\0" + b"\xff" * (3 * _WIDTH)
    rows = b"".join((b"\0" + bytes(lane)) * max(1, plot.lane_px - 1) + gap * (plot.lane_px > 1) for lane in lanes)
    header = struct.pack(">IIBBBBB", _WIDTH, max(1, plot.height), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _plot(runs: Sequence[Run], slices: Sequence[SliceId], since_ms: int, until_ms: int) -> _Plot:
    span_ms = max(1, until_ms - since_ms)
    lanes = {slice_id: index for index, slice_id in enumerate(slices)}
    shown = [run for run in runs if run.since_ms < until_ms and run.until_ms > since_ms]
    users = sorted({run.user for run in shown})
    colours = {user: _PALETTE[index % len(_PALETTE)] for index, user in enumerate(users)}
    scale = _WIDTH / span_ms
    bars = tuple(
        _Bar(
            x=(max(run.since_ms, since_ms) - since_ms) * scale,
            width=(min(run.until_ms, until_ms) - max(run.since_ms, since_ms)) * scale,
            lane=lanes[slice_id],
            colour=colours[run.user],
            title=f"{run.job_id} of {run.user}: {_clock(run.since_ms)} to {_clock(run.until_ms)}, {run.reason}",
            ended_badly=run.reason is not Reason.COMPLETED,
        )
        for run in shown
        for slice_id in run.slices
    )
    ticks = tuple(
        (_WIDTH * index / _TICKS, _clock(since_ms + span_ms * index // _TICKS)) for index in range(_TICKS + 1)
    )
    lane_px = max(1, min(16, _MOST_HEIGHT // max(1, len(lanes))))
    return _Plot(bars, tuple(lanes), lane_px, ticks, tuple((user, colours[user]) for user in users[:60]))


def _clock(at_ms: int) -> str:
    """`2d 03:04`, since the trace's start."""
    minutes = at_ms // 60_000
    return f"{minutes // 1440}d {minutes // 60 % 24:02}:{minutes % 60:02}"


def _paint(lane: bytearray, begin: int, end: int, colour: Colour) -> None:
    begin, end = max(0, begin), min(_WIDTH, end)
    lane[3 * begin : 3 * end] = bytes(colour) * max(0, end - begin)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def worst_hours(runs: Iterable[Run], span_ms: int) -> tuple[int, int]:
    """The window of that length in which most gangs run, by whole windows; where to look first in a long trace."""
    counts: dict[int, int] = {}
    for run in runs:
        for window in range(run.since_ms // span_ms, run.until_ms // span_ms + 1):
            counts[window] = counts.get(window, 0) + 1
    busiest = max(counts, key=lambda window: (counts[window], -window), default=0)
    return busiest * span_ms, (busiest + 1) * span_ms
