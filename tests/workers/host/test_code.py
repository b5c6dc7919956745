"""Code on a host: whole or not at all, read-only, and never used once somebody changed it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.domain.bundles import BadBundle
from orchestrator.protocol import ProgramOrder
from tests.orchestrator.api.bundle import a_bundle
from tests.workers.host.test_agent import an_agent, an_order, drained  # noqa: F401  # the fixture
from workers.host.agent import Agent
from workers.host.code import CodeCache
from workers.host.messages import RankOrder


def test_a_bundle_is_unpacked_read_only(tmp_path: Path) -> None:
    cache, (archive, digest) = CodeCache(tmp_path / "code"), a_bundle(**{"a.py": "1", "deep/er/b.py": "2"})
    assert not cache.has(digest)
    cache.add(digest, archive)
    cache.add(digest, archive)  # as the agent of another host on this machine does
    folder = cache.folder(digest)
    assert [(folder / name).read_text() for name in ("a.py", "deep/er/b.py")] == ["1", "2"]
    modes = {path.relative_to(folder).as_posix(): oct(path.stat().st_mode & 0o777) for path in folder.rglob("*")}
    assert modes == {"a.py": "0o444", "deep": "0o555", "deep/er": "0o555", "deep/er/b.py": "0o444"}
    assert [path.name for path in cache.root.iterdir()] == [digest]


def change(path: Path) -> None:
    path.chmod(0o644)
    path.write_text("import evil")
    path.chmod(0o444)


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: change(folder / "a.py"),
        lambda folder: change(folder.parent / "archive"),
        lambda folder: (folder / "a.py").unlink(),
        lambda folder: (folder / "more.py").write_text(""),
        lambda folder: (folder / "link.py").symlink_to("/etc/passwd"),
        lambda folder: (folder / "a.py").chmod(0o777),
    ],
    ids=["file", "archive", "gone", "more", "link", "mode"],
)
def test_code_that_was_changed_is_not_used_again(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    cache, (archive, digest) = CodeCache(tmp_path / "code"), a_bundle(**{"a.py": "1"})
    cache.add(digest, archive)
    folder = cache.folder(digest)
    folder.chmod(0o700)
    harm(folder)
    assert not cache.has(digest)
    cache.add(digest, archive)
    assert (cache.folder(digest) / "a.py").read_text() == "1"


def test_what_is_not_the_bundle_that_was_asked_for_leaves_nothing(tmp_path: Path) -> None:
    cache, (archive, digest) = CodeCache(tmp_path / "code"), a_bundle()
    with pytest.raises(BadBundle, match="something else"):
        cache.add(digest, archive + b"x")
    with pytest.raises(BadBundle, match="not the digest"):
        cache.has("../up")
    with pytest.raises(RuntimeError, match="is not on this host"):
        cache.folder(digest)
    assert not cache.root.exists() or not list(cache.root.iterdir())


def order_with(code: str, *command: str) -> RankOrder:
    plain = an_order("a", *command)
    program = ProgramOrder(None, None, command, code)
    return RankOrder(*(program if name == "program" else getattr(plain, name) for name in plain.__dataclass_fields__))


def test_a_command_runs_in_its_code(an_agent: Callable[..., Agent]) -> None:  # noqa: F811
    agent, (archive, digest) = (
        an_agent(),
        a_bundle(**{"main.py": "import mine; print(mine.WORD)", "mine.py": "WORD = 7"}),
    )
    with pytest.raises(RuntimeError, match="is not on this host"):
        agent.launch(order_with(digest, "python", "main.py"))
    agent.take_code(digest, archive)
    agent.launch(order_with(digest, "python", "main.py"))
    status = drained(agent, "a")
    assert status.exit is not None
    assert (status.exit.exit_code, status.exit.stderr_tail) == (0, ())
    assert agent.read("a", {"stdout": 0}, 100) == {"stdout": b"7\n"}
    assert agent.has_code(digest), "running it left no trace in it"
