"""A folder becomes a bundle: the same everywhere, without what .gitignore names, and with what git says of it."""

import io
import subprocess
from pathlib import Path

import pytest

from orchestrator.client import packing
from orchestrator.client.packing import Packed, pack
from orchestrator.domain.bundles import BadBundle, read_archive


def write(folder: Path, **contents: str) -> Path:
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path, **contents: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    write(folder, **contents)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=x")
    return folder


def files(packed: Packed) -> dict[str, str]:
    return {file.path: b"".join(content).decode() for file, content in read_archive(io.BytesIO(packed.archive))}


def test_the_same_files_make_the_same_bundle_wherever_they_lie(tmp_path: Path) -> None:
    first = pack(write(tmp_path / "one", **{"a.py": "1", "b/c.py": "2"}))
    second = pack(write(tmp_path / "two", **{"b/c.py": "2", "a.py": "1"}))
    assert first.digest == second.digest
    assert pack(write(tmp_path / "two", **{"a.py": "3"})).digest != first.digest
    assert (first.files, first.origin) == (2, None)


def test_gitignore_holds_in_a_repository_and_in_a_plain_folder(tmp_path: Path) -> None:
    contents = {"a.py": "1", ".gitignore": "*.bin\n", "x.bin": "x", "sub/.gitignore": "data/\n", "sub/data/d": "d"}
    plain = pack(write(tmp_path / "plain", **contents))
    assert sorted(files(plain)) == [".gitignore", "a.py", "sub/.gitignore"]
    assert not (tmp_path / "plain" / ".git").exists()
    in_repository = pack(repository(tmp_path / "repository", **contents))
    assert in_repository.digest == plain.digest


def test_a_folder_within_a_repository_is_packed_by_itself(tmp_path: Path) -> None:
    repository(tmp_path / "r", **{"top.py": "1", "job/run.py": "2", ".gitignore": "*.log"})
    packed = pack(write(tmp_path / "r" / "job", **{"new.py": "3", "x.log": "4"}))
    assert files(packed) == {"run.py": "2", "new.py": "3"}
    assert packed.origin is not None
    assert packed.origin.dirty


def test_what_is_committed_and_what_differs_is_told(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", **{"a.py": "old\n", "gone.py": "x"})
    clean = pack(folder).origin
    assert clean is not None
    assert (clean.commit, clean.dirty, clean.diff) == (git(folder, "rev-parse", "HEAD"), False, None)
    write(folder, **{"a.py": "new\n"})
    (folder / "gone.py").unlink()
    packed = pack(folder)
    assert files(packed) == {"a.py": "new\n"}
    assert packed.origin is not None
    assert packed.origin.dirty
    assert "-old\n+new\n" in (packed.origin.diff or "")


def test_a_long_difference_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_LONGEST_DIFF", 100)
    folder = repository(tmp_path / "r", **{"a.py": "old\n"})
    origin = pack(write(folder, **{"a.py": "new\n" * 100})).origin
    assert origin is not None
    assert (origin.diff or "").endswith("is left out")
    assert len(origin.diff or "") < 200


def test_a_repository_without_a_commit_has_none(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", **{"a.py": "1"})
    git(folder, "init", "--quiet")
    packed = pack(folder)
    assert (files(packed), packed.origin and packed.origin.commit) == ({"a.py": "1"}, None)


def test_a_repository_within_one_is_packed_too(tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer", **{"a.py": "1"})
    repository(outer / "inner", **{"b.py": "2", ".gitignore": "*.bin", "c.bin": "3"})
    assert sorted(files(pack(outer))) == ["a.py", "inner/.gitignore", "inner/b.py"]


def test_a_link_within_is_packed_as_its_file_and_one_that_leads_out_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "f", **{"a.py": "1"})
    (folder / "b.py").symlink_to("a.py")
    assert files(pack(folder)) == {"a.py": "1", "b.py": "1"}
    for target in ("/etc/passwd", "nowhere", "."):
        (folder / "c.py").unlink(missing_ok=True)
        (folder / "c.py").symlink_to(target)
        with pytest.raises(BadBundle, match="leads out of the folder, or nowhere"):
            pack(folder)


def test_scripts_stay_executable(tmp_path: Path) -> None:
    (write(tmp_path / "f", **{"run.sh": "x"}) / "run.sh").chmod(0o755)
    [(file, _)] = list(read_archive(io.BytesIO(pack(tmp_path / "f").archive)))
    assert file.executable


@pytest.mark.parametrize(
    ("contents", "says"),
    [({}, "no file in it"), ({"workers/a.py": ""}, "hide Podwright's own"), ({"x" * 120: ""}, "name is too long")],
)
def test_what_no_bundle_may_hold_is_refused_before_anything_is_sent(
    tmp_path: Path, contents: dict[str, str], says: str
) -> None:
    with pytest.raises(BadBundle, match=says):
        pack(write(tmp_path, **contents))


def test_what_is_too_much_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, **{"a.py": "12345", "b.bin": "12345"})
    monkeypatch.setattr(packing, "MAX_UNPACKED_BYTES", 7)
    with pytest.raises(BadBundle, match=r"at b\.bin; leave out data with \.gitignore"):
        pack(tmp_path)
    monkeypatch.setattr(packing, "MAX_FILES", 1)
    with pytest.raises(BadBundle, match="more than 1 files"):
        pack(tmp_path)
    with pytest.raises(BadBundle, match="is not a folder"):
        pack(tmp_path / "a.py")


def test_without_git_a_gitignore_is_not_passed_over_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    folder = write(tmp_path / "f", **{"a.py": "1"})
    assert files(pack(folder)) == {"a.py": "1"}
    write(folder, **{".gitignore": "*.bin"})
    with pytest.raises(BadBundle, match="no git here to heed it"):
        pack(folder)
