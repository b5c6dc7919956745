"""Spans, sizes and steps as they are read."""

import pytest

from orchestrator.cli.remote.wording import moment, size, span, steps


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (4_120, "4.1 s"),
        (59_949, "59.9 s"),
        (59_960, "1m 00s"),
        (80_000, "1m 20s"),
        (7_500_000, "2h 05m"),
        (300_000_000, "3d 11h"),
    ],
)
def test_a_span_has_the_unit_that_fits(milliseconds: int, words: str) -> None:
    assert span(milliseconds) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 * 1024**5, "5120.0 TiB")]
)
def test_a_size_has_the_unit_that_fits(count: int, words: str) -> None:
    assert size(count) == words


def test_steps_tell_the_part_of_the_way_if_the_total_is_known() -> None:
    assert steps(1_200, 4_800) == "1,200/4,800 (25 %)"
    assert steps(1_200, None) == "1,200"
    assert steps(None, 10) == ""


def test_a_time_that_no_calendar_has_is_shown_as_a_number() -> None:
    assert moment(2**63 - 1) == "9223372036854775807 ms"
    assert moment(-1) == "-1 ms"
