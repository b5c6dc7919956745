"""Where arrays lie: one table from logical axes to mesh axes, the mesh, and the shardings that follow. No maths."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from orchestrator.domain.programs.train import MeshConfig

MESH_AXES = ("data", "fsdp", "sequence", "tensor")
Axis = str | tuple[str, ...] | None
LogicalAxes = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Logical axis -> mesh axis; None is replicated. Change how a model is spread by changing this table."""

    batch: Axis = ("data", "fsdp")
    # Of activations: each device has a piece of every context, and the keys of all of it.
    time: Axis = "sequence"
    # Of parameters and optimizer state: every device keeps a piece and gathers the whole when it is used.
    embed: Axis = "fsdp"
    heads: Axis = "tensor"
    kv_heads: Axis = "tensor"
    ffn: Axis = "tensor"
    vocab: Axis = "tensor"
    # Norm scales: 128 numbers each, a collective would cost more than they weigh.
    norm: Axis = None
    # Of blocks stacked for a scan.
    layers: Axis = None


def make_mesh(config: MeshConfig) -> Mesh:
    """A mesh of all devices of the gang. Raises ValueError when the config does not use them all."""
    # `jax.make_mesh` makes explicit axes by default, under which every operation must name its sharding.
    return jax.make_mesh(config.shape(jax.device_count()), MESH_AXES, axis_types=(AxisType.Auto,) * len(MESH_AXES))


def spec_for(axes: LogicalAxes, layout: Layout) -> PartitionSpec:
    """The mesh axes of an array with these logical axes (None: an axis that is never split).

    Raises ValueError when two of them would lie on one mesh axis.
    """
    spec = [None if axis is None else getattr(layout, axis) for axis in axes]
    used = [name for entry in spec if entry is not None for name in ((entry,) if isinstance(entry, str) else entry)]
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

    def gather(self, weight: jax.Array, axes: LogicalAxes) -> jax.Array:
        """Inside jit: the whole of a parameter over `fsdp`, still split over `tensor`. Its gradient is scattered."""
        return self.split(weight, tuple(None if axis == "embed" else axis for axis in axes))

    @property
    def platform(self) -> str:
        """The kind of the mesh's devices: cpu, gpu or tpu. Not the default backend's, which compiling ahead leaves."""
        return str(self.mesh.devices.flat[0].platform)

    @property
    def batch_ways(self) -> int:
        """Into how many pieces a batch is split."""
        return int(np.prod([self.mesh.shape[name] for name in ("data", "fsdp")]))
