"""The labels by which Ray nodes say which host of which slice they are. Ray's own names where Ray has one."""

from typing import Final

from orchestrator.domain.topology import GENERATIONS, SliceShape

SLICE: Final = "ray.io/tpu-slice-name"
HOST: Final = "ray.io/tpu-worker-id"
POD_TYPE: Final = "ray.io/tpu-pod-type"
TOPOLOGY: Final = "ray.io/tpu-topology"
ACCELERATOR: Final = "ray.io/accelerator-type"
POOL: Final = "podwright.io/pool"
CAPACITY: Final = "podwright.io/capacity"
EMULATED: Final = "podwright.io/emulated"
"""`true` on hosts whose chips are CPU devices."""


def of_host(slice_id: str, host: int, shape: SliceShape, *, pool: str, capacity: str) -> dict[str, str]:
    """The labels of one host of a slice."""
    return {
        SLICE: slice_id,
        HOST: str(host),
        POD_TYPE: pod_type(shape),
        TOPOLOGY: shape.topology,
        ACCELERATOR: f"TPU-{shape.generation.upper()}",
        POOL: pool,
        CAPACITY: capacity,
    }


def pod_type(shape: SliceShape) -> str:
    """Google's name of the slice: `v5e:2x4 -> v5litepod-8`."""
    generation = GENERATIONS[shape.generation]
    return f"{generation.type_prefix}-{shape.chips * generation.name_counts}"


def shape_of(labels: dict[str, str]) -> SliceShape:
    """The shape that a node's labels name. Label values cannot hold the colon of `v5e:2x4`, so it is put together here.

    Raises:
        ValueError: the labels name no shape that is sold.
    """
    prefix = labels.get(POD_TYPE, "").rpartition("-")[0]
    for generation in GENERATIONS.values():
        if generation.type_prefix == prefix:
            return SliceShape.parse(f"{generation.name}:{labels.get(TOPOLOGY, '')}")
    raise ValueError(f"unknown TPU pod type {labels.get(POD_TYPE)!r}")
