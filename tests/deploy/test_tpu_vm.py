"""The start-up script of a TPU VM, against a metadata server of ours, until it hands over to Ray."""

import getpass
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.deploy.metadata_server import metadata_server
from tests.deploy.release import DEPLOY, REPOSITORY, environment_with
from tests.emulated import until

JOINS = "host 0 of joined (v5e:2x2, on_demand) joins 127.0.0.1:1"

V5E_2X2 = {
    "attributes/accelerator-type": "v5litepod-4",
    "attributes/agent-worker-number": "0",
    "attributes/instance-id": "joined",
    "attributes/tpu-env": "TOPOLOGY: '2x2'\n",
    "attributes/podwright-pool": "vms",
    "scheduling/preemptible": "FALSE",
}


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """The folder of an earlier boot, in which the release is installed already."""
    release = tmp_path / "release"
    release.mkdir()
    locks = [REPOSITORY / "requirements.lock", REPOSITORY / "requirements-tpu.lock"]
    for file in (wheel, DEPLOY / "install.sh", *locks):
        shutil.copy(file, release)
    prefix = tmp_path / "home" / "venv"
    environment_with(wheel, prefix)
    for file in (wheel, *locks):
        (prefix / f".installed-{file.name}").write_text(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  -\n")
    return release


def test_a_vm_that_boots_reads_which_host_it_is_and_sets_out_to_join(installed: Path, tmp_path: Path) -> None:
    said = V5E_2X2 | {"attributes/podwright-head": "127.0.0.1:1", "attributes/podwright-release": str(installed)}
    with metadata_server(said) as address, (tmp_path / "boot.log").open("wb") as log:
        told = {
            "PODWRIGHT_METADATA": address,
            "PODWRIGHT_HOME": str(tmp_path / "home"),
            "PODWRIGHT_WORK": str(tmp_path / "work"),
            "PODWRIGHT_USER": getpass.getuser(),
            "PYTHON": "python3",
        }
        command = ["bash", str(DEPLOY / "tpu-vm.sh"), "--emulated"]
        process = psutil.Popen(command, env=os.environ | told, stdout=log, stderr=log, start_new_session=True)
        try:
            until(lambda: JOINS in (tmp_path / "boot.log").read_text() or None, "it sets out to join")
        finally:
            process.kill()
            process.wait(60)


@pytest.mark.parametrize("missing", ["podwright-head", "podwright-release"])
def test_without_its_metadata_the_script_says_what_to_set(missing: str, tmp_path: Path) -> None:
    said = {"attributes/podwright-head": "10.0.0.5:6379", "attributes/podwright-release": str(tmp_path)}
    del said[f"attributes/{missing}"]
    with metadata_server(said) as address:
        told = os.environ | {"PODWRIGHT_METADATA": address, "PODWRIGHT_HOME": str(tmp_path)}
        ran = subprocess.run(["bash", DEPLOY / "tpu-vm.sh"], env=told, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert f"set the metadata {missing}" in ran.stderr
