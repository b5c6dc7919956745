"""The wheel holds all that runs, and a server starts from it with no checkout beside it."""

import subprocess
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.deploy.release import DEPLOY, REPOSITORY
from tests.orchestrator.client.server import Server

ROOTS = ("orchestrator", "workers", "jobs", "migrations")


def test_the_wheel_holds_every_file_of_ours_and_no_test(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.check_output(["git", "ls-files", *ROOTS], cwd=REPOSITORY, text=True).split()
    assert {name for name in tracked if name.endswith((".py", ".mako", "py.typed"))} <= names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == set(ROOTS)


def test_a_server_starts_from_the_wheel_and_migrates_its_database(python_with_wheel: Path, tmp_path: Path) -> None:
    server = Server.start(tmp_path / "state", python=python_with_wheel, folder=tmp_path)
    try:
        assert httpx.get(f"{server.url}/readyz").raise_for_status().json() == {"status": "ready"}
        with server.client() as client:
            assert (
                client.submit({"name": "a", "program": {"command": ["true"]}, "slices": "v5e:2x4"})["state"] == "QUEUED"
            )
    finally:
        server.stop()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_clean_environment_installed_from_the_lock_by_hash_runs_a_server(wheel: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "podwright"
    for file in (REPOSITORY / "requirements.lock", wheel, wheel):  # as the image does; once more is nothing
        subprocess.run(["bash", DEPLOY / "install.sh", prefix, file], check=True, cwd=tmp_path)
    server = Server.start(tmp_path / "state", python=prefix / "bin" / "python", folder=tmp_path)
    try:
        assert httpx.get(f"{server.url}/readyz").is_success
    finally:
        server.stop()
