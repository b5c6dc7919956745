"""The counter of bytes that a compiled program sends, against sums made by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

from tests.benchmarks import collectives

# As the TPU compiler writes them, cut to what counts.
FUSED = """HloModule fused, num_partitions=32
%all-reduce-scatter.1 (p: bf16[64,128]) -> bf16[4,128] {
  %p = bf16[64,128]{1,0} parameter(0)
  %all-reduce.1 = bf16[64,128]{1,0:T(8,128)(2,1)} all-reduce(%p), channel_id=7, replica_groups=[2,16]<=[32]
  ROOT %cut = bf16[4,128]{1,0} dynamic-slice(%all-reduce.1, %index), dynamic_slice_sizes={4,128}
}

%body (state: (s32[], f32[8])) -> (s32[], f32[8]) {
  %x = f32[8]{0} get-tuple-element(%state), index=1
  %ar = (f32[8], f32[]) all-reduce(%x, %y), replica_groups=mesh['a'=4,'b'=1], device_ids=([2,2]T(1,0)) {'a','b'}
  ROOT %next = (s32[], f32[8]) tuple(%i, %ar)
}

%condition (state: (s32[], f32[8])) -> pred[] {
  %limit = s32[]{:T(128)} constant(LIMIT)
  %i = s32[] get-tuple-element(%state), index=0
  ROOT %lt = pred[] compare(%i, %limit), direction=DIRECTION
}

ENTRY %main (p: bf16[64,128]) -> bf16[4,128] {
  %fusion.1 = bf16[4,128]{1,0} fusion(%p), kind=kCustom, calls=%all-reduce-scatter.1
  %while.1 = (s32[], f32[8]) while(%start), condition=%condition, body=%body
  %moved = (f32[64]{0}, f32[64]{0}, u32[], u32[]) collective-permute-start(%q), source_target_pairs={{0,1},{1,0}}
  %done = f32[64]{0} collective-permute-done(%moved)
  %all = f32[32]{0} all-reduce(%q), replica_groups={}, to_apply=%add
}
"""
OF_FUSED = {
    "reduce-scatter bf16": 15 * 4 * 128 * 2,
    "all-reduce f32": 2 * 3 * 36 * 3 // 4 + 2 * 128 * 31 // 32,
    "collective-permute f32": 256,
}


def test_collectives_count_as_a_ring_sends_them_times_the_trips_of_their_loop():
    """Eight devices: in each of 5 trips a gather of [16, 32] over 4 and its reduction; once a sum over all."""
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))

    def on_one(piece):
        def trip(total, _):
            whole = jax.lax.all_gather(piece * total, "x", tiled=True)
            return jnp.sum(jax.lax.psum_scatter(jnp.sin(whole), "x", tiled=True).astype(jnp.float32)) + total, None

        total, _ = jax.lax.scan(trip, jnp.float32(0), length=5)
        return jax.lax.psum(jnp.full((100,), total), ("x", "y"))

    specs = {"in_specs": PartitionSpec("x"), "out_specs": PartitionSpec(), "check_vma": False}
    program = jax.jit(jax.shard_map(on_one, mesh=mesh, **specs)).lower(jnp.zeros((16, 32), jnp.float32)).compile()
    whole = 16 * 32 * 4
    assert collectives.by_kind(collectives.sent(program.as_text())) == {
        "all-gather f32": 5 * whole * 3 // 4,
        "reduce-scatter f32": 5 * whole * 3 // 4,
        "all-reduce f32": 2 * 400 * 7 // 8,
    }


def test_a_reduction_that_hides_in_a_fusion_and_other_spellings_of_groups_are_read():
    text = FUSED.replace("LIMIT", "3").replace("DIRECTION", "LT")
    assert collectives.by_kind(collectives.sent(text)) == OF_FUSED


def test_a_loop_whose_trips_are_not_known_is_an_error():
    with pytest.raises(ValueError, match=r"while\.1: how often this loop runs is not known"):
        collectives.sent(FUSED.replace("LIMIT", "3").replace("DIRECTION", "NE"))
