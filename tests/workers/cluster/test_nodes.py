"""Slices are read off the labels of Ray's nodes."""

from typing import Any

from orchestrator.domain.topology import SliceShape
from workers.cluster.nodes import slices_of
from workers.host import labels

SHAPE = SliceShape.parse("v5e:2x4")


def a_node(slice_id: str, host: int, *, alive: bool = True) -> dict[str, Any]:
    return {"Labels": labels.of_host(slice_id, host, SHAPE, pool="p", capacity="spot"), "Alive": alive}


def test_a_slice_is_whole_when_every_host_is_alive() -> None:
    found = slices_of([a_node("a", 0), a_node("b", 0), a_node("a", 1), {"Labels": {}, "Alive": True}])
    assert [(s.slice_id, s.whole, s.shape, s.pool) for s in found] == [
        ("a", True, SHAPE, "p"),
        ("b", False, SHAPE, "p"),
    ]


def test_a_host_that_came_back_as_a_new_node_makes_its_slice_whole() -> None:
    found = slices_of([a_node("a", 0), a_node("a", 1, alive=False), a_node("a", 1)])
    assert found[0].whole


def test_a_pod_type_that_is_not_sold_is_passed_over() -> None:
    odd = a_node("a", 0)
    odd["Labels"][labels.POD_TYPE] = "v99-8"
    assert slices_of([odd]) == ()
