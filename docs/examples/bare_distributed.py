"""An unmodified JAX program: a bare `initialize()` finds the other hosts, and a sum runs over all devices."""

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

jax.distributed.initialize()

mesh = jax.make_mesh((jax.device_count(),), ("all",), axis_types=(jax.sharding.AxisType.Auto,))
sharding = NamedSharding(mesh, PartitionSpec("all"))
numbers = jax.make_array_from_callback(
    (jax.device_count(),), sharding, lambda index: jnp.arange(jax.device_count(), dtype=jnp.float32)[index]
)
total = jax.jit(jnp.sum)(numbers)

print(f"process {jax.process_index()} of {jax.process_count()}: {jax.device_count()} devices, sum {float(total)}")
