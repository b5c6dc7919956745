"""Bundles: what is written is read, and nothing that is not a plain file inside its folder gets through."""

import gzip
import io
import tarfile
from collections.abc import Callable

import pytest

from orchestrator.domain import bundles
from orchestrator.domain.bundles import BadBundle, SourceFile, read_archive, write_archive

FILES = [(SourceFile("run.sh", True, 4), b"true"), (SourceFile("src/größe.py", False, 600), b"x" * 600)]


def packed(files: list[tuple[SourceFile, bytes]]) -> bytes:
    out = io.BytesIO()
    write_archive(files, out)
    return out.getvalue()


def unpacked(archive: bytes) -> list[tuple[SourceFile, bytes]]:
    return [(file, b"".join(content)) for file, content in read_archive(io.BytesIO(archive))]


def test_what_is_written_is_read_and_always_the_same_bytes() -> None:
    assert unpacked(packed(FILES)) == FILES
    assert packed(FILES) == packed(FILES)


def test_any_tar_can_read_it() -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(FILES))) as archive:
        assert [(one.name, one.mode, one.mtime, one.uid) for one in archive] == [
            ("run.sh", 0o755, 0, 0),
            ("src/größe.py", 0o644, 0, 0),
        ]


def test_content_that_nobody_reads_is_passed_over() -> None:
    assert [file.path for file, _ in read_archive(io.BytesIO(packed(FILES)))] == ["run.sh", "src/größe.py"]


def foreign(*members: tarfile.TarInfo, form: int = tarfile.USTAR_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=form) as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(member.size)))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, size
    return made


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: b"no archive", "not a gzip file"),
        (lambda: packed(FILES)[:-30], "cut off|not a gzip"),
        (lambda: gzip.compress(b"x" * 2000), "not a ustar archive"),
        (lambda: foreign(), "no file in it"),
        (lambda: foreign(member("../up")), "relative"),
        (lambda: foreign(member("/etc/passwd")), "relative"),
        (lambda: foreign(member("a/./b")), "relative"),
        (lambda: foreign(member("a\\..\\b")), "relative"),
        (lambda: foreign(member("a\nb")), "printable"),
        (lambda: foreign(member("link", tarfile.SYMTYPE, "/etc/passwd")), "not a regular file"),
        (lambda: foreign(member("link", tarfile.LNKTYPE, "x")), "not a regular file"),
        (lambda: foreign(member("pipe", tarfile.FIFOTYPE)), "not a regular file"),
        (lambda: foreign(member("x" * 300), form=tarfile.PAX_FORMAT), "not a regular file"),
        (lambda: foreign(member("x" * 300), form=tarfile.GNU_FORMAT), "not a regular file"),
        (lambda: foreign(member("a"), member("a")), "there twice"),
        (lambda: foreign(member("a"), member("a/b")), "there twice"),
        (lambda: foreign(member("a/b"), member("a")), "there twice"),
        (lambda: foreign(member("/".join("abcdefghijklmnopqrstuvwxyzabcdefgh"))), "levels"),
        (lambda: foreign(member("workers/__init__.py")), "would hide Podwright's own package"),
        (lambda: foreign(member("jobs.py")), "would hide"),
        (lambda: foreign(member("orchestrator")), "would hide"),
    ],
)
def test_what_a_bundle_must_not_hold_is_refused(make: Callable[[], bytes], says: str) -> None:
    with pytest.raises(BadBundle, match=says):
        unpacked(make())


def test_names_like_ours_deeper_down_are_the_users_own() -> None:
    unpacked(foreign(member("src/workers/a.py"), member("jobs_of_mine/a.py"), member("workers.txt")))


def test_a_small_archive_of_enormous_content_is_given_up_before_it_is_unpacked() -> None:
    claimed = member("zeros", size=bundles.MAX_UNPACKED_BYTES + 1).tobuf(tarfile.USTAR_FORMAT)
    with pytest.raises(BadBundle, match="more than 256 MiB"):
        unpacked(gzip.compress(claimed))


def test_too_many_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "MAX_FILES", 1)
    with pytest.raises(BadBundle, match="more than 1 files"):
        packed(FILES)
