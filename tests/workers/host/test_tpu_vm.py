"""A TPU VM reads from its metadata server which host of which slice it is."""

from pathlib import Path

import pytest

from orchestrator.domain.topology import SliceShape
from tests.deploy.metadata_server import V5E_4X4, metadata_server
from workers.host.tpu_vm import NotATpuVm, TpuVm, chips_here, fetch_from, read_tpu_vm

POD_A_3 = TpuVm("pod-a", 3, SliceShape.parse("v5e:4x4"), "spot", None)


def test_a_spot_host_is_read_over_http() -> None:
    with metadata_server(V5E_4X4) as address:
        assert read_tpu_vm(fetch_from(address)) == POD_A_3


@pytest.mark.parametrize(
    ("said", "vm"),
    [
        ({"scheduling/preemptible": "FALSE"}, TpuVm("pod-a", 3, POD_A_3.shape, "on_demand", None)),
        ({"attributes/podwright-pool": "research"}, TpuVm("pod-a", 3, POD_A_3.shape, "spot", "research")),
        (
            {"attributes/accelerator-type": "", "attributes/agent-worker-number": "", "attributes/instance-id": ""},
            POD_A_3,
        ),
        ({"attributes/tpu-env": ""}, POD_A_3),
        (
            {"attributes/accelerator-type": "v4-64", "attributes/tpu-env": "TOPOLOGY: '2x4x4'"},
            TpuVm("pod-a", 3, SliceShape.parse("v4:2x4x4"), "spot", None),
        ),
        (
            {"attributes/accelerator-type": "v5p-8", "attributes/agent-worker-number": "0", "attributes/tpu-env": ""},
            TpuVm("pod-a", 0, SliceShape.parse("v5p:2x2x1"), "spot", None),
        ),
    ],
)
def test_what_is_not_said_in_one_place_is_taken_from_another(said: dict[str, str], vm: TpuVm) -> None:
    assert read_tpu_vm(lambda key: (V5E_4X4 | said).get(key) or None) == vm


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"attributes/accelerator-type": "", "attributes/tpu-env": ""}, "no TPU VM"),
        ({"attributes/accelerator-type": "v99-8"}, "v99-8"),
        ({"attributes/tpu-env": "TOPOLOGY: '3x5'"}, "no topology '3x5'"),
        ({"attributes/agent-worker-number": "two"}, "agent-worker-number is 'two'"),
        ({"attributes/agent-worker-number": "4"}, "host 4 of pod-a, but v5e:4x4 has 4 hosts"),
        ({"attributes/instance-id": "a,b=c"}, "instance-id is 'a,b=c'"),
        ({"attributes/podwright-pool": "x" * 64}, "podwright-pool"),
    ],
)
def test_what_is_no_host_that_we_can_use_is_refused_in_words(said: dict[str, str], words: str) -> None:
    with pytest.raises(NotATpuVm, match=words):
        read_tpu_vm(lambda key: (V5E_4X4 | said).get(key) or None)


def test_a_machine_without_a_metadata_server_is_no_tpu_vm() -> None:
    with pytest.raises(NotATpuVm, match="no metadata server answers"):
        read_tpu_vm(fetch_from("http://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("devices", "chips"),
    [
        (("accel0", "accel1", "accel2", "accel3"), 4),
        (("vfio/0", "vfio/1", "vfio/vfio"), 2),
        (("accel/accel0",), 0),
        ((), 0),
    ],
)
def test_chips_are_counted_by_their_devices(devices: tuple[str, ...], chips: int, tmp_path: Path) -> None:
    for name in devices:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert chips_here(tmp_path) == chips
