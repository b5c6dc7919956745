"""A curve in braille: where its dots are, what its labels say, and what it does with odd values."""

import io
import math
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli.remote.chart import chart
from orchestrator.cli.remote.frame import Frame
from orchestrator.cli.remote.full_screen import Picture


def test_a_line_falls_from_the_upper_left_to_the_lower_right() -> None:
    assert chart([0, 10], [1.0, 0.0], 10, 3) == ["1 ⠉⠒⠤⣀", "0 ⠀⠀⠀⠀⠉⠒⠤⣀", "  0     10"]


@pytest.mark.parametrize(
    ("xs", "ys", "lines"),
    [
        ([], [], []),
        ([1], [math.nan], []),
        ([5], [2.0], ["2 ⠄", "2", "  5       5"]),
        ([0, 1, 2], [3.0, math.inf, 3.0], ["3 ⠤⠤⠤⠤⠤⠤⠤⠤", "3", "  0      2"]),
    ],
)
def test_odd_curves(xs: list[float], ys: list[float], lines: list[str]) -> None:
    made = chart(xs, ys, 10, 3)
    assert [line.split()[0] for line in made] == [line.split()[0] for line in lines]
    assert all(len(line) <= 11 for line in made)


def job(**changes: Any) -> dict[str, Any]:
    return {
        "name": "tiny", "state": "RUNNING", "attempts": 1, "attempt": {"live": True, "slices": ["a"]},
        "progress": {"phase": "train", "step": 12, "total_steps": 40}, "committed_step": 10, "message": "",
    } | changes  # fmt: skip


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 8), (140, 50)])
def test_the_whole_picture_fits_the_terminal(width: int, height: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, color_system=None, markup=False)
    events = [{"at_ms": n * 1000, "kind": "k", "message": f"happened {n} \x1b[2J{'x' * 200}"} for n in range(30)]
    loss = {"steps": list(range(100)), "values": [5 - n / 50 for n in range(100)]}
    console.print(Picture(Frame.of(job(), []), loss, events))
    lines = out.getvalue().splitlines()
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    assert "\x1b[2J" not in out.getvalue()
    assert ("loss" in out.getvalue()) is (height > 17)
