"""Log bytes as lines that are whole and harmless."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.remote.log_lines import LineSplitter, readable, with_rank


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"plain\ttext", "plain\ttext"),
        ("naïve 模型 ✓".encode(), "naïve 模型 ✓"),
        (b"\x1b[2J\x07gone", "\\x1b[2J\\x07gone"),
        (b"\xff\x00", "\\xff\\x00"),
        ("\u202egnp".encode(), "\\u202egnp"),
        ("\x9b31m".encode(), "\\x9b31m"),
    ],
)
def test_what_moves_the_cursor_is_written_out(line: bytes, shown: str) -> None:
    assert readable(line) == shown


def test_the_rank_stands_before_the_line() -> None:
    assert with_rank(3, b"hello").plain == "3| hello"


def test_carriage_returns_end_lines_too() -> None:
    splitter = LineSplitter()
    assert list(splitter.feed(b"10 %\r20 %\r\ndone\nre")) == [b"10 %", b"20 %", b"done"]
    assert list(splitter.feed(b"st")) == []
    assert list(splitter.flush()) == [b"rest"]


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"bc"])), st.data())
def test_lines_do_not_depend_on_how_the_bytes_arrive(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    splitter, at_once = LineSplitter(), LineSplitter()
    in_two = [*splitter.feed(whole[:cut]), *splitter.feed(whole[cut:]), *splitter.flush()]
    assert in_two == [*at_once.feed(whole), *at_once.flush()]


def test_a_line_without_an_end_is_shown_in_parts() -> None:
    splitter = LineSplitter()
    parts = [*splitter.feed(b"x" * 200_000), *splitter.flush()]
    assert b"".join(parts) == b"x" * 200_000
    assert max(map(len, parts)) <= 64 * 1024
