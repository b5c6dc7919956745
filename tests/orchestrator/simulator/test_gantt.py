"""Pictures: every gang is there on each of its slices, and the formats are what they say."""

import struct
import zlib
from xml.etree import ElementTree

from orchestrator.domain.endings import Reason
from orchestrator.simulator.gantt import png, svg, worst_hours
from orchestrator.simulator.records import Run

RUNS = [
    Run("job_1", "ann", ("s0", "s1"), 2, 0, 50_000, Reason.COMPLETED),
    Run("job_2", "b<b>", ("s1",), 1, 50_000, 100_000, Reason.HOST_LOST),
]
SVG = "{http://www.w3.org/2000/svg}"


def test_an_svg_holds_a_bar_per_gang_and_slice_with_a_title():
    root = ElementTree.fromstring(svg(RUNS, ["s0", "s1", "s2"], 0, 100_000))
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles == [
        "job_1 of ann: 0d 00:00 to 0d 00:00, completed",
        "job_1 of ann: 0d 00:00 to 0d 00:00, completed",
        "job_2 of b<b>: 0d 00:00 to 0d 00:01, host_lost",
    ]
    labels = {text.text for text in root.iter(f"{SVG}text")}
    assert {"s0", "s1", "s2", "ann", "b<b>"} <= labels


def test_only_the_window_is_drawn():
    root = ElementTree.fromstring(svg(RUNS, ["s0", "s1"], 60_000, 100_000))
    assert len(list(root.iter(f"{SVG}title"))) == 1


def test_a_png_has_its_header_and_as_many_rows_as_it_says():
    image = png(RUNS, ["s0", "s1"], 0, 100_000)
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    start = image.index(b"IDAT") + 4
    (length,) = struct.unpack(">I", image[start - 8 : start - 4])
    pixels = zlib.decompress(image[start : start + length])
    assert len(pixels) == height * (1 + 3 * width)
    assert pixels[1:4] != b"\xff\xff\xff", "the first bar begins at the left edge"


def test_the_busiest_window_is_found():
    assert worst_hours([*RUNS, RUNS[1]], 40_000) == (40_000, 80_000)
