"""What the real TPU compiler makes of the 8B shape: `make tpu`. Minutes of CPU each; no TPU.

One JSON line per figure. PODWRIGHT_TPU names the folder that libtpu is installed in (`make tpu` installs it).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from jobs.train.config import parse
from orchestrator.api.configs import whole_config
from tests.benchmarks.figure import Figure, at_most

LIBTPU = os.environ.get("PODWRIGHT_TPU")
GIB = 1 << 30
# Topology -> (fsdp, fsdp_across), what MaxText 0.2.5 needs there in GiB.
SLICES = {"v5p:4x4x4": (16, 4, 5.58), "v6e:16x16": (16, 16, 4.44)}


def compile_ahead(config: str, topology: str) -> dict[str, Any]:
    """What `tests.benchmarks.ahead` says of a config, with libtpu. CalledProcessError when it does not compile."""
    path = os.pathsep.join(filter(None, [LIBTPU, os.environ.get("PYTHONPATH")]))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.ahead", config, topology],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    said: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return said


def ideal_bytes(config: str, chips: int) -> float:
    """Each parameter of a block gathered in bf16 forward and backward, its gradient scattered once; the output layer
    gathered once and scattered once; the embedding nowhere, of which a step needs a few rows: 44 GB of the 8B shape."""
    model = parse(config).model
    outside = model.V * model.D
    return 2 * (3 * (model.parameters - 2 * outside) + 2 * outside) * (chips - 1) / chips


def figures() -> Iterator[Figure]:
    for topology, (fsdp, across, gib) in SLICES.items():
        keys = {"model": {"T": 4096}, "mesh": {"fsdp": fsdp, "fsdp_across": across}}
        data = {"source": "tokens", "paths": ["unread.bin"], "batch": fsdp * across}
        config = whole_config("train", {"preset": "llama-8b", "data": data} | keys)
        found = compile_ahead(config, topology)
        name = topology.split(":")[0]
        kinds = ", ".join(f"{kind} {bytes / 1e9:.2f} GB" for kind, bytes in found["by_kind"].items())
        how = (
            f"8B, 4,096 tokens, full rematerialisation, 1 row a chip, fsdp {fsdp} x {across}, {found['seconds']:.0f} s"
        )
        yield at_most(f"trainer.tpu_{name}_peak", found["peak_bytes"] / GIB, gib, "GiB", how)
        ratio = found["sent_bytes"] / ideal_bytes(config, fsdp * across)
        yield at_most(f"trainer.tpu_{name}_sent", ratio, 1.10, "times the ideal", f"a chip and step: {kinds}")


if __name__ == "__main__":
    missed = False
    for figure in figures():
        sys.stdout.write(figure.line() + "\n")
        sys.stdout.flush()
        missed |= not figure.met
    sys.exit(missed)
