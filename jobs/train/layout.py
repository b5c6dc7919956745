"""Where arrays lie: one table from logical axes to mesh axes, the mesh, and the shardings that follow. No maths."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import jax
from jax.experimental import mesh_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from orchestrator.domain.programs.train import MeshConfig

MESH_AXES = tuple(field.name for field in fields(MeshConfig))
Axis = str | tuple[str, ...] | None
LogicalAxes = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Logical axis -> mesh axis; None is replicated. Change how a model is spread by changing this table."""

    batch: Axis = ("data", "fsdp", "fsdp_across", "expert")
    # Of activations: each device has a piece of every context, and the keys of all of it.
    time: Axis = "sequence"
    # Of parameters and optimizer state: every device keeps a piece and gathers the whole when it is used, axis by axis.
    embed: Axis = ("fsdp", "fsdp_across")
    heads: Axis = "tensor"
    kv_heads: Axis = "tensor"
    ffn: Axis = "tensor"
    vocab: Axis = "tensor"
    # Norm scales: 128 numbers each, a collective would cost more than they weigh.
    norm: Axis = None
    # Of blocks stacked for a scan.
    layers: Axis = None


def make_mesh(config: MeshConfig, devices: Sequence[Any] | None = None) -> Mesh:
    """A mesh of all devices of the gang, or of these. Raises ValueError when the config does not use them all.

    Of several slices `data` is outermost, so that nothing else crosses from one to the other. Emulated devices know no
    slice: theirs come slice by slice already, since ranks are numbered so.
    """
    devices = jax.devices() if devices is None else devices
    shape = config.shape(len(devices))
    slices = len({getattr(device, "slice_index", 0) for device in devices})
    if shape[0] % slices:
        raise ValueError(f"data={shape[0]} is not a multiple of the {slices} slices")
    # A ring of v5e's grid may share a dimension of it with another; the other kinds' tori need not.
    split = "v5 lite" in devices[0].device_kind
    if slices == 1:
        grid = mesh_utils.create_device_mesh(shape, devices, allow_split_physical_axes=split)
    else:
        inside, between = (shape[0] // slices, *shape[1:]), (slices, *(1,) * (len(shape) - 1))
        grid = mesh_utils.create_hybrid_device_mesh(inside, between, devices, allow_split_physical_axes=split)
    # By default axes are explicit, under which every operation must name its sharding.
    return Mesh(grid, MESH_AXES, axis_types=(AxisType.Auto,) * len(MESH_AXES))


def spec_for(axes: LogicalAxes, layout: Layout) -> PartitionSpec:
    """The mesh axes of an array with these logical axes (None: an axis that is never split).

    Raises ValueError when two of them would lie on one mesh axis.
    """
    spec = [None if axis is None else getattr(layout, axis) for axis in axes]
    used = [name for entry in spec for name in _names(entry)]
    if len(used) != len(set(used)):
        raise ValueError(f"axes {axes} would lie on mesh axes {used}: one mesh axis cannot split two of them")
    return PartitionSpec(*spec)


@dataclass(frozen=True, slots=True)
class Placement:
    """A layout on a mesh: what the model and the loop ask about where things lie."""

    mesh: Mesh
    layout: Layout = Layout()

    def sharding(self, axes: LogicalAxes) -> NamedSharding:
        """The sharding of an array with these logical axes; `()` is replicated."""
        return NamedSharding(self.mesh, spec_for(axes, self.layout))

    def split(self, x: jax.Array, axes: LogicalAxes) -> jax.Array:
        """Inside jit: `x` lies like this from here on."""
        return jax.lax.with_sharding_constraint(x, self.sharding(axes))

    def with_whole(
        self, compute: Callable[..., jax.Array], weight: jax.Array, axes: LogicalAxes, *rows: jax.Array | None
    ) -> Any:
        """Inside jit: `compute(weight, *rows)` with the whole of a parameter, which is gathered for it.

        Each device does this for its own rows (first axes are `batch`, also of what is returned), and its part of the
        weight's gradient is summed straight into the pieces. Said by collectives: left to the partitioner, a long axis
        of TPUs sums the whole gradient everywhere and then cuts it, which sends twice as much. `tensor` and `sequence`
        stay the partitioner's.
        """
        split = self._ways("batch")
        if not split:
            return compute(weight, *rows)
        gathered = self._ways("embed") if "embed" in axes else ()
        at = axes.index("embed") if gathered else 0

        def on_one(weight: jax.Array, *rows: jax.Array | None) -> jax.Array:
            for name in reversed(gathered):
                weight = jax.lax.all_gather(weight, name, axis=at, tiled=True)
            return compute(weight, *rows)

        piece = PartitionSpec(*(gathered if axis == "embed" else None for axis in axes))
        by_row = PartitionSpec(split)
        specs = (piece, *(None if row is None else by_row for row in rows))
        return jax.shard_map(
            on_one, mesh=self.mesh, in_specs=specs, out_specs=by_row, axis_names=set(split), check_vma=False
        )(weight, *rows)

    @property
    def platform(self) -> str:
        """The kind of the mesh's devices: cpu, gpu or tpu. Not the default backend's, which compiling ahead leaves."""
        return str(self.mesh.devices.flat[0].platform)

    def ways(self, axis: str) -> int:
        """Into how many pieces a logical axis is split."""
        return math.prod(self.mesh.shape[name] for name in _names(getattr(self.layout, axis)))

    def _ways(self, axis: str) -> tuple[str, ...]:
        return tuple(name for name in _names(getattr(self.layout, axis)) if self.mesh.shape[name] > 1)


def _names(axis: Axis) -> tuple[str, ...]:
    return () if axis is None else (axis,) if isinstance(axis, str) else axis
