"""`podwright`: the command line in this process, against one live server for all tests of it."""

import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.cli import main as command_line
from tests.orchestrator.client.server import Server


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Podwright = Callable[..., Done]


@pytest.fixture(scope="session")
def live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server.start(tmp_path_factory.mktemp("cli") / "state")
    yield started
    started.stop()


@pytest.fixture
def anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Podwright:
    """The command line of a user who has an empty configuration and stands in an empty folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("PODWRIGHT_STATE", "PODWRIGHT_SERVER", "PODWRIGHT_TOKEN", "PODWRIGHT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*words: str, stdin: str = "", columns: int = 80) -> Done:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.argv", ["podwright", *words])
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                command_line.main()
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
        return Done(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def podwright(anywhere: Podwright, live_server: Server, monkeypatch: pytest.MonkeyPatch) -> Podwright:
    """The same beside the live server, as its admin."""
    monkeypatch.setenv("PODWRIGHT_STATE", str(live_server.state_dir))
    return anywhere
