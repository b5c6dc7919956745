"""A curve in a terminal: two by four dots of braille per character, so that a small box shows a shape."""

import math
from collections.abc import Sequence
from typing import Final

_BRAILLE: Final = 0x2800
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bit of the dot at (row, column) of a character, from the top."""


def chart(xs: Sequence[float], ys: Sequence[float], width: int, height: int) -> list[str]:
    """`height` lines of at most `width` characters: values at the left, the curve, and its first and last x below.

    Points whose value is not finite are left out; without any other the chart is empty.
    """
    points = [(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(y)]
    if not points or height < 2:
        return []
    low, high = min(y for _, y in points), max(y for _, y in points)
    labels = (f"{high:.4g}", f"{low:.4g}")
    margin = max(map(len, labels)) + 1
    columns, rows = max(1, width - margin), height - 1
    grid = _dots(points, columns, rows, low, high)
    lines = ["".join(chr(_BRAILLE + cell) for cell in row).rstrip(chr(_BRAILLE)) for row in grid]
    sides = [labels[0], *[""] * (rows - 2), labels[1]] if rows > 1 else [labels[0]]
    first, last = f"{points[0][0]:,.0f}", f"{points[-1][0]:,.0f}"
    below = first + last.rjust(max(0, columns - len(first)))
    return [f"{side.rjust(margin - 1)} {line}".rstrip() for side, line in zip(sides, lines, strict=True)] + [
        " " * margin + below
    ]


def _dots(points: Sequence[tuple[float, float]], columns: int, rows: int, low: float, high: float) -> list[list[int]]:
    first, last = points[0][0], points[-1][0]
    across, down = columns * 2 - 1, rows * 4 - 1
    grid = [[0] * columns for _ in range(rows)]
    before: tuple[int, int] | None = None
    for x, y in points:
        here = (
            round(across * (x - first) / (last - first)) if last > first else 0,
            round(down * (high - y) / (high - low)) if high > low else down // 2,
        )
        for column, row in _line(before or here, here):
            grid[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
        before = here
    return grid


def _line(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """Every dot between two, ends included."""
    length = max(abs(end[0] - start[0]), abs(end[1] - start[1]))
    return [
        (
            round(start[0] + (end[0] - start[0]) * at / max(1, length)),
            round(start[1] + (end[1] - start[1]) * at / max(1, length)),
        )
        for at in range(length + 1)
    ]
