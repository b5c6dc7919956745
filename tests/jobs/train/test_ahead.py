"""The step on the real TPU compiler, ahead of time and without a TPU. `make tpu` gives it libtpu."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.api.configs import whole_config
from tests.benchmarks import tpu

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
# The tiles of the splash kernel, which `auto` then takes.
TILED = {"T": 128, "head_width": 128}


def ahead(topology: str, model: dict[str, Any], mesh: dict[str, int]) -> dict[str, Any]:
    if tpu.LIBTPU is None:
        pytest.skip("PODWRIGHT_TPU names no folder with libtpu: make tpu")
    found = tpu.compile_ahead(whole_config("train", {"preset": "tiny", "model": model, "mesh": mesh}), topology)
    assert found["splash"]
    assert 0 < found["peak_bytes"] < 15.75 * tpu.GIB
    return found


def test_the_step_of_tiny_compiles_for_v5e_with_splash_attention():
    assert ahead("v5e:2x2", TILED, {})["by_kind"]["reduce-scatter bf16"] > 0


def test_over_two_slices_data_is_outermost_and_each_device_attends_from_its_part_of_the_context():
    found = ahead("2*v5e:2x2", TILED | {"T": 256}, {"data": 2, "sequence": 2})
    assert found["slices"] == [[0], [1]]


@pytest.mark.parametrize("capacity", [None, 1.25])
def test_a_mixture_of_experts_compiles(capacity):
    experts = {"experts": 4, "expert_capacity": capacity, "feed_forward": "swiglu", "layers": "scanned"}
    found = ahead("v5e:2x2", TILED | experts, {"expert": 2})
    assert found["by_kind"][f"all-{'gather' if capacity is None else 'to-all'} bf16"] > 0
