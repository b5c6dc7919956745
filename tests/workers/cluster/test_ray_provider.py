"""Hosts join a Ray head with the labels by which a cluster process finds their slices."""

import pytest

from orchestrator.domain.topology import SliceShape
from workers.cluster.nodes import slices_of
from workers.cluster.providers.ray import check_chips, host_command
from workers.host.tpu_vm import NotATpuVm, TpuVm


def vm(host: int, pool: str | None = None) -> TpuVm:
    return TpuVm("pod-a", host, SliceShape.parse("v4:2x2x2"), "spot", pool)


def labels_of(command: list[str]) -> dict[str, str]:
    given = next(word for word in command if word.startswith("--labels="))
    return dict(pair.split("=", 1) for pair in given.removeprefix("--labels=").split(","))


def test_the_hosts_that_joined_are_one_whole_slice() -> None:
    joined = [host_command(vm(host, "research"), head="10.0.0.5:6379", pool=None, emulated=False) for host in (0, 1)]
    (found,) = slices_of([{"Labels": labels_of(command), "Alive": True} for command in joined])
    assert (found.slice_id, str(found.shape), found.whole) == ("pod-a", "v4:2x2x2", True)
    assert (found.pool, found.capacity, found.emulated) == ("research", "spot", False)
    assert "--address=10.0.0.5:6379" in joined[0]
    assert '--resources={"TPU": 4}' in joined[0]


@pytest.mark.parametrize(("given", "of_metadata", "pool"), [("a", "b", "a"), (None, "b", "b"), (None, None, "default")])
def test_a_pool_that_is_given_goes_before_that_of_the_metadata(
    given: str | None, of_metadata: str | None, pool: str
) -> None:
    command = host_command(vm(0, of_metadata), head="h:1", pool=given, emulated=True)
    (found,) = slices_of([{"Labels": labels_of(command), "Alive": True}])
    assert (found.pool, found.emulated) == (pool, True)


def test_a_machine_with_other_chips_than_its_shape_has_is_refused() -> None:
    check_chips(vm(0), 4)
    with pytest.raises(NotATpuVm, match="shows 8 TPU chips, but hosts of v4:2x2x2 have 4"):
        check_chips(vm(0), 8)
