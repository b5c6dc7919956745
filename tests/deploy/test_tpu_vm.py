"""The start-up script of a TPU VM, against a metadata server of ours and the session's Ray cluster."""

import getpass
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.protocol import FactBody, GangEnded
from tests.deploy.metadata_server import metadata_server
from tests.deploy.release import DEPLOY, REPOSITORY, environment_with
from tests.emulated import Emulated, end, until
from tests.workers.cluster.rig import Rig, an_order

pytestmark = pytest.mark.ray

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


@pytest.fixture
def booted(installed: Path, emulated: Emulated, tmp_path: Path) -> Iterator[psutil.Popen]:
    """The script, running as on a VM."""
    head = json.loads(emulated.cluster_file.read_text())["address"]
    said = V5E_2X2 | {"attributes/podwright-head": head, "attributes/podwright-release": str(installed)}
    # Ray writes where its newest cluster is into a file that all Rays of this machine share, unless told so.
    with metadata_server(said) as address, (tmp_path / "boot.log").open("wb") as log:
        told = {
            "PODWRIGHT_METADATA": address,
            "PODWRIGHT_HOME": str(tmp_path / "home"),
            "PODWRIGHT_WORK": str(tmp_path / "work"),
            "PODWRIGHT_USER": getpass.getuser(),
            "PYTHON": "python3",
            "RAY_TMPDIR": str(tmp_path),
        }
        rehearsal = ["--emulated", "--address", "127.0.0.1"]
        command = ["bash", str(DEPLOY / "tpu-vm.sh"), *rehearsal]
        process = psutil.Popen(command, env=os.environ | told, stdout=log, stderr=log, start_new_session=True)
        yield process
        started = process.children(recursive=True) if process.is_running() else []
        end(process)
        until(lambda: not any(child.is_running() for child in started) or None, "Ray's processes are gone", 30)


@pytest.mark.long
def test_a_vm_that_boots_joins_as_a_slice_and_runs_a_job(booted: psutil.Popen, rig: Rig, tmp_path: Path) -> None:
    up = rig.wait_for_slice("joined")
    assert (up.shape, up.pool, up.capacity) == ("v5e:2x2", "vms", "on_demand")
    assert [(host.host, host.chips) for host in up.hosts] == [(0, 4)]
    rig.plane.order(an_order("on-the-vm", "joined", "true"))

    def ended(body: FactBody) -> GangEnded | None:
        return body if isinstance(body, GangEnded) and body.attempt_id == "on-the-vm" else None

    found = rig.plane.wait_for(ended, "the attempt has ended")
    rig.plane.withdraw("on-the-vm")
    assert [(rank.exit_code, rank.slice_id) for rank in found.exits] == [(0, "joined")]


@pytest.mark.parametrize("missing", ["podwright-head", "podwright-release"])
def test_without_its_metadata_the_script_says_what_to_set(missing: str, tmp_path: Path) -> None:
    said = {"attributes/podwright-head": "10.0.0.5:6379", "attributes/podwright-release": str(tmp_path)}
    del said[f"attributes/{missing}"]
    with metadata_server(said) as address:
        told = os.environ | {"PODWRIGHT_METADATA": address, "PODWRIGHT_HOME": str(tmp_path)}
        ran = subprocess.run(["bash", DEPLOY / "tpu-vm.sh"], env=told, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert f"set the metadata {missing}" in ran.stderr
