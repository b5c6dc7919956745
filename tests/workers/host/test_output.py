"""What is in an output folder, however odd its names, and that nothing outside it can be read through it."""

import os
from pathlib import Path

import pytest

from orchestrator.domain.bundles import BadBundle
from workers.host import output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "output"
    (made / "deep" / "er").mkdir(parents=True)
    (made / "a.txt").write_text("abc")
    (made / "deep" / "er" / "b.txt").write_text("")
    (tmp_path / "secret").write_text("secret")
    return made


def seen(folder: Path) -> dict[str, int | str]:
    return {file.path: file.refused or file.size for file in output.listing(folder)}


def test_files_are_found_at_every_depth_and_no_folder_is_no_trouble(folder: Path) -> None:
    assert seen(folder) == {"a.txt": 3, "deep/er/b.txt": 0}
    assert output.listing(folder / "nowhere") == ()


def test_links_pipes_and_odd_names_are_told_and_not_followed(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent / "secret")
    (folder / "folder").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe")
    (folder / "a\nb").write_text("x")
    Path(os.fsdecode(bytes(folder) + b"/\xff")).write_text("x")
    (folder / ("d" * 200) / ("e" * 200)).mkdir(parents=True)
    found = seen(folder)
    assert (found["link"], found["folder"], found["pipe"]) == (*["is a symbolic link"] * 2, "is no regular file")
    odd = {path: why for path, why in found.items() if path not in ("a.txt", "deep/er/b.txt", "link", "folder", "pipe")}
    assert len(odd) == 3
    assert all(isinstance(why, str) and path.isprintable() and "/" not in path for path, why in odd.items())


def test_a_folder_with_very_many_files_is_not_listed_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MOST", 1)
    assert seen(folder) == {"a.txt": 3}


def test_bytes_are_read_by_offset(folder: Path) -> None:
    assert output.read(folder, "a.txt", 1, 1) == b"b"
    assert output.read(folder, "deep/er/b.txt", 0, 9) == b""


@pytest.mark.parametrize("path", ["link", "folder/secret", "pipe", "deep", "gone", "deep/gone/x"])
def test_nothing_but_a_file_in_the_folder_can_be_read(folder: Path, path: str) -> None:
    (folder / "link").symlink_to(folder.parent / "secret")
    (folder / "folder").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe")
    with pytest.raises(OSError, match=r"\[Errno|is no regular file"):
        output.read(folder, path, 0, 99)


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "deep/../../secret", ""])
def test_paths_that_lead_out_are_no_paths(folder: Path, path: str) -> None:
    with pytest.raises(BadBundle):
        output.read(folder, path, 0, 99)


def test_no_descriptor_is_left_open(folder: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("a.txt", "deep/er/b.txt", "gone", "deep/gone/x", "deep/er"):
        try:
            output.read(folder, path, 0, 9)
        except OSError:
            continue
    assert len(list(Path("/proc/self/fd").iterdir())) == before
