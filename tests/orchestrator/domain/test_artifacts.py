"""A glimpse of a file: shown as what it is, cut where it is long, and never more than data."""

import base64
import json

import pytest

from orchestrator.domain import artifacts
from orchestrator.domain.artifacts import HEAD_BYTES, MAX_FILE_BYTES, MAX_RANK_BYTES, MAX_RANK_FILES, preview, refusal
from orchestrator.store.strict_json import parse

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def seen(path: str, data: bytes, size: int | None = None) -> artifacts.Preview:
    return preview(path, data[: artifacts.IMAGE_BYTES], len(data) if size is None else size, parse)


@pytest.mark.parametrize(
    ("path", "data", "kind", "shown"),
    [
        ("notes.txt", "größe".encode(), "text", "größe"),
        ("page.html", b"<script>x</script>", "text", "<script>x</script>"),
        ("empty", b"", "text", ""),
        ("a.json", b'{"a": [1, null]}', "json", {"a": [1, None]}),
        ("null.JSON", b"null", "json", None),
        ("bad.json", b'{"a": NaN}', "text", '{"a": NaN}'),
        ("deep.json", b"[" * 99 + b"]" * 99, "text", "[" * 99 + "]" * 99),
        ("huge.json", b"1e999", "text", "1e999"),
        ("a.csv", b'x,y\n1,"2,3"\n', "table", (("x", "y"), ("1", "2,3"))),
        ("a.tsv", b"x\ty\n", "table", (("x", "y"),)),
        ("plot.png", PNG, "png", base64.b64encode(PNG).decode()),
        ("not-really.png", b"text", "text", "text"),
        ("x.bin", b"\xff\xfe", "binary", None),
        ("x.txt", b"a\0b", "binary", None),
    ],
)
def test_each_kind_is_shown_as_what_it_is(path: str, data: bytes, kind: str, shown: object) -> None:
    found = seen(path, data)
    assert (found.kind, found.truncated) == (kind, False)
    assert {"json": found.value, "table": found.rows, "png": found.image, "binary": None}.get(kind, found.text) == shown


def test_long_files_are_cut_between_characters_rows_and_not_within() -> None:
    text = seen("a.txt", "ä".encode() * HEAD_BYTES)
    assert (text.kind, text.truncated, set(text.text or "")) == ("text", True, {"ä"})
    odd = seen("a.txt", b"x" + "ä".encode() * HEAD_BYTES)
    assert (odd.kind, len((odd.text or "").encode())) == ("text", HEAD_BYTES - 1)
    table = seen("a.csv", b"1,2\n" * 30_000)
    assert (table.kind, table.truncated, len(table.rows or ())) == ("table", True, artifacts.MAX_ROWS)
    assert seen("a.json", json.dumps(["x" * HEAD_BYTES]).encode()).kind == "text"
    assert seen("a.png", PNG, size=2 * artifacts.IMAGE_BYTES) == artifacts.Preview("png", True)


@pytest.mark.parametrize(
    ("size", "files", "total", "says"),
    [
        (MAX_FILE_BYTES, 0, 0, None),
        (MAX_FILE_BYTES + 1, 0, 0, "a file may have"),
        (1, MAX_RANK_FILES, 0, "1000 files"),
        (1, MAX_RANK_FILES - 1, MAX_RANK_BYTES - 1, None),
        (2, 1, MAX_RANK_BYTES - 1, "all files of a rank"),
    ],
)
def test_what_is_too_much_is_refused_in_words(size: int, files: int, total: int, says: str | None) -> None:
    found = refusal(size, files, total)
    assert found == says if says is None else says in (found or "")
