"""Compiles a train step with the real TPU compiler, without a TPU: `python -m tests.benchmarks.ahead CONFIG TOPOLOGY`.

CONFIG is a whole config as JSON, TOPOLOGY a key of `TOPOLOGIES`. Prints one line of JSON: seconds, bytes of a chip's
memory at its fullest, bytes that a chip sends per step, and the collectives behind them. Needs libtpu, in an
interpreter of its own: the variables below must be set before JAX starts.
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


def compiled(config: Any, topology: str) -> Any:
    """The compiled step of a config for all chips of a topology."""
    import jax
    from jax.experimental import topologies

    from jobs.train.layout import Placement, make_mesh
    from jobs.train.step import Trainer, compile_step

    devices = topologies.get_topology_desc(platform="tpu", topology_name=topology, **TOPOLOGIES[topology]).devices
    placement = Placement(make_mesh(config.mesh, devices))
    trainer = Trainer(config, placement)
    shape, rows = (config.data.batch, config.model.T + 1), placement.sharding(("batch", None))
    return compile_step(trainer, trainer.abstract(), {"tokens": jax.ShapeDtypeStruct(shape, "int32", sharding=rows)})


def main(text: str, topology: str) -> None:
    os.environ.update(VARIABLES)
    from jobs.train.config import parse
    from tests.benchmarks import collectives

    begun = time.perf_counter()
    step = compiled(parse(text), topology)
    seconds, hlo = time.perf_counter() - begun, step.as_text()
    if (path := os.environ.get("PODWRIGHT_HLO")) is not None:
        with open(path, "w") as file:  # noqa: PTH123
            file.write(hlo)
    sent = collectives.sent(hlo)
    said = {
        "seconds": round(seconds, 1),
        "peak_bytes": step.memory_analysis().peak_memory_in_bytes,
        "sent_bytes": sum(each.bytes for each in sent),
        "splash": "splash_mha" in hlo,
        "by_kind": collectives.by_kind(sent),
    }
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
