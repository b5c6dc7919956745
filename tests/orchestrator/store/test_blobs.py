from pathlib import Path

import pytest

from orchestrator.store.blobs import Blobs


def test_writing_the_same_bytes_again_changes_nothing(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    for offset, data in ((0, b"abc"), (3, b"def"), (0, b"abc"), (2, b"cd")):
        blobs.write_at("logs/a/0.stdout", offset, data)
    assert blobs.read("logs/a/0.stdout", 0, 100) == b"abcdef"


def test_reading_beyond_the_end_or_of_nothing_gives_nothing(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    blobs.write_at("a", 0, b"abc")
    assert (blobs.read("a", 7, 10), blobs.read("b", 0, 10)) == (b"", b"")


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "a//b", "", ".", "a/..", "a\0b", "a\\b"])
def test_names_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    blobs = Blobs(tmp_path / "root")
    with pytest.raises(ValueError, match="not the name of a blob"):
        blobs.write_at(name, 0, b"x")
    with pytest.raises(ValueError, match="not the name of a blob"):
        blobs.read(name, 0, 1)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="symbolic links"):
        Blobs(root).write_at("a", 0, b"x")
