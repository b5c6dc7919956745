"""Reads slices off Ray's list of nodes. Pure: rows in, slices out."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.topology import SliceShape
from workers.host import labels

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SliceNodes:
    """The nodes of one slice that are alive. `whole`: every host of its shape is there once."""

    slice_id: str
    shape: SliceShape
    pool: str
    capacity: str
    emulated: bool
    hosts: frozenset[int]

    @property
    def whole(self) -> bool:
        return self.hosts == frozenset(range(self.shape.hosts))


def slices_of(nodes: Iterable[Mapping[str, Any]]) -> tuple[SliceNodes, ...]:
    """The slices among `ray.nodes()`, by name, also those that have lost hosts. Other nodes are passed over."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for node in nodes:
        if labels.SLICE in node["Labels"]:
            rows.setdefault(node["Labels"][labels.SLICE], []).append(node)
    found = []
    for slice_id, members in sorted(rows.items()):
        names = members[-1]["Labels"]
        try:
            shape = labels.shape_of(names)
        except ValueError as error:
            log.warning("slice %s is passed over: %s", slice_id, error)
            continue
        found.append(
            SliceNodes(
                slice_id,
                shape,
                pool=names.get(labels.POOL, "default"),
                capacity=names.get(labels.CAPACITY, "on_demand"),
                emulated=names.get(labels.EMULATED) == "true",
                hosts=frozenset(int(node["Labels"][labels.HOST]) for node in members if node["Alive"]),
            )
        )
    return tuple(found)
