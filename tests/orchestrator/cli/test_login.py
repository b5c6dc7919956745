"""Profiles: which control plane a command talks to, and whose token it takes along."""

import json
import stat
from pathlib import Path

from tests.orchestrator.cli.conftest import Podwright
from tests.orchestrator.client.server import Server


def test_a_login_is_kept_used_and_forgotten(anywhere: Podwright, live_server: Server, tmp_path: Path) -> None:
    assert anywhere("jobs", "list").code == 3
    done = anywhere("login", live_server.url, "--as", "lab", stdin=live_server.token() + "\n")
    assert (done.code, done.out) == (0, f"lab: local (admin) at {live_server.url}\n")
    kept = tmp_path / "config" / "podwright" / "profiles.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(anywhere("whoami", "--json").out)["url"] == live_server.url
    assert anywhere("jobs", "list").code == 0
    assert [line.split() for line in anywhere("profiles", "list").out.splitlines()[1:]] == [
        ["*", "lab", live_server.url]
    ]
    assert anywhere("logout").out == "lab is forgotten\n"
    assert live_server.token() not in kept.read_text()
    assert anywhere("jobs", "list").code == 3


def test_a_token_that_is_not_known_is_not_kept(anywhere: Podwright, live_server: Server) -> None:
    done = anywhere("login", live_server.url, stdin="wrong\n")
    assert (done.code, "does not know this token" in done.err) == (1, True)
    assert anywhere("profiles", "list").out == "none yet; add one: podwright login URL\n"


def test_a_kept_token_goes_to_its_own_server_only(anywhere: Podwright, live_server: Server) -> None:
    anywhere("login", live_server.url, "--as", "lab", stdin=live_server.token() + "\n")
    done = anywhere("--server", "http://127.0.0.1:1", "jobs", "list")
    assert (done.code, "PODWRIGHT_TOKEN" in done.err) == (2, True)
    assert anywhere("--server", live_server.url + "/", "jobs", "list").code == 0


def test_a_state_folder_that_is_there_goes_before_the_current_profile(anywhere: Podwright, tmp_path: Path) -> None:
    (tmp_path / "config" / "podwright").mkdir(parents=True)
    kept = {"current": "x", "profiles": {"x": {"url": "http://127.0.0.1:1", "token": "t"}}}
    (tmp_path / "config" / "podwright" / "profiles.json").write_text(json.dumps(kept))
    (tmp_path / ".podwright").mkdir()
    assert "no control plane was ever started" in anywhere("jobs", "list").err
    assert "no control plane at http://127.0.0.1:1" in anywhere("--profile", "x", "jobs", "list").err


def test_what_cannot_be_used_is_told(anywhere: Podwright, tmp_path: Path) -> None:
    assert anywhere("--profile", "lab", "jobs", "list").err == (
        "podwright: no profile 'lab'; there are: none yet. Add one: podwright login URL\n"
    )
    assert anywhere("--profile", "lab", "--server", "http://x", "jobs", "list").code == 2
    assert anywhere("login", "lab.example", stdin="t\n").code == 2
    assert anywhere("logout").code == 2
    (tmp_path / "config" / "podwright").mkdir(parents=True)
    (tmp_path / "config" / "podwright" / "profiles.json").write_text("{")
    assert "is damaged" in anywhere("profiles", "list").err
