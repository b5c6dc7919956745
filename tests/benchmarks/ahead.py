"""Compiles a train step with the real TPU compiler, without a TPU: `python -m tests.benchmarks.ahead CONFIG TOPOLOGY`.

CONFIG is a whole config as JSON, TOPOLOGY a key of `TOPOLOGIES`, after `2*` for two slices. Prints one line of JSON:
seconds, bytes of a chip's memory at its fullest, bytes that a chip sends per step, and the collectives behind them.
Needs libtpu, in an interpreter of its own: the variables below must be set before JAX starts.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

VARIABLES = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
}
TOPOLOGIES: dict[str, dict[str, Any]] = {
    # With plain names every gather of a program becomes an all-reduce; these are the chips as they are sold.
    "v5e:2x2": {"chip_config_name": "default", "chips_per_host_bounds": (2, 2, 1)},
    "v5p:4x4x4": {"chip_config_name": "megacore", "chips_per_host_bounds": (2, 2, 1), "wrap": (True, True, True)},
    "v6e:16x16": {"chip_config_name": "default", "chips_per_host_bounds": (2, 2, 1), "wrap": (True, True, False)},
}


def placed(config: Any, topology: str) -> Any:
    """The config's mesh over all chips of a topology, or of several."""
    from jax.experimental import topologies

    from jobs.train.layout import Placement, make_mesh

    slices, _, name = topology.rpartition("*")
    described = topologies.get_topology_desc(
        platform="tpu", topology_name=name, num_slices=int(slices or 1), **TOPOLOGIES[name]
    )
    return Placement(make_mesh(config.mesh, described.devices))


def compiled(config: Any, placement: Any) -> Any:
    """The compiled step."""
    import jax

    from jobs.train.step import Trainer, compile_step

    trainer = Trainer(config, placement)
    shape, rows = (config.data.batch, config.model.T + 1), placement.sharding(("batch", None))
    return compile_step(trainer, trainer.abstract(), {"tokens": jax.ShapeDtypeStruct(shape, "int32", sharding=rows)})


def main(text: str, topology: str) -> None:
    os.environ.update(VARIABLES)
    from jobs.train.config import parse
    from tests.benchmarks import collectives

    begun = time.perf_counter()
    config = parse(text)
    placement = placed(config, topology)
    step = compiled(config, placement)
    seconds, hlo = time.perf_counter() - begun, step.as_text()
    sent = collectives.sent(hlo)
    said = {
        "seconds": round(seconds, 1),
        "peak_bytes": step.memory_analysis().peak_memory_in_bytes,
        "sent_bytes": sum(each.bytes for each in sent),
        "splash": "splash_mha" in hlo,
        # Of each part of the data axis, the slices that its chips are of.
        "slices": [sorted({getattr(chip, "slice_index", 0) for chip in part.flat}) for part in placement.mesh.devices],
        "by_kind": collectives.by_kind(sent),
    }
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
