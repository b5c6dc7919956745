"""The step on the real TPU compiler, ahead of time and without a TPU. `make tpu` gives it libtpu."""

from __future__ import annotations

import pytest

from orchestrator.api.configs import whole_config
from tests.benchmarks import tpu

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def test_the_step_of_tiny_compiles_for_v5e_with_splash_attention():
    """With the tiles of the kernel: 128 tokens and heads 128 wide, which `auto` then takes."""
    if tpu.LIBTPU is None:
        pytest.skip("PODWRIGHT_TPU names no folder with libtpu: make tpu")
    config = whole_config("train", {"preset": "tiny", "model": {"T": 128, "head_width": 128}})
    found = tpu.compile_ahead(config, "v5e:2x2")
    assert found["splash"]
    assert 0 < found["peak_bytes"] < 15.75 * tpu.GIB
    assert found["by_kind"]["reduce-scatter bf16"] > 0
