"""A mixture of experts: each token goes through some of E gated feed-forwards, which a router chooses for it.

Further letters: E experts  R chosen ones, best first  C places of an expert for one row  N tokens of a device
M = N x R. Capacity is counted row by row, so that no number depends on how a batch is spread.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import nnx

from jobs.train.layers import project, used, weight
from jobs.train.layout import Placement
from orchestrator.domain.programs.train import FeedForwardKind, ModelConfig


class Experts(nnx.Module):
    """In place of a feed-forward layer."""

    def __init__(self, config: ModelConfig, rngs: nnx.Rngs) -> None:
        E, D, F = config.E, config.D, config.F
        self.config = config
        self.router_DE = weight(rngs, (D, E), ("embed", None), D)
        self.gate_EDF = weight(rngs, (E, D, F), ("expert", "embed", "ffn"), D)
        self.up_EDF = weight(rngs, (E, D, F), ("expert", "embed", "ffn"), D)
        self.down_EFD = weight(rngs, (E, F, D), ("expert", "ffn", "embed"), F)

    def __call__(self, x_BTD: jax.Array, placement: Placement) -> tuple[jax.Array, jax.Array]:
        """And how uneven the router's choices are, row by row: 1 is even, E all to one (Switch Transformer, eq. 4)."""
        config = self.config
        odds_BTE = jax.nn.softmax(project(x_BTD.astype(jnp.float32), self.router_DE, placement))
        best_BTR, chosen_BTR = jax.lax.top_k(odds_BTE, config.experts_chosen)
        share_BTR = best_BTR / jnp.sum(best_BTR, axis=-1, keepdims=True)
        is_chosen_BTRE = chosen_BTR[..., None] == jnp.arange(config.E)[None, None, None]
        part_BE = jnp.mean(jnp.mean(is_chosen_BTRE, axis=2, dtype=jnp.float32), axis=1)
        uneven_B = config.E * jnp.sum(part_BE * jnp.mean(odds_BTE, axis=1), axis=-1)
        if config.expert_capacity is None:
            y_BTD = self._all(x_BTD, chosen_BTR, share_BTR.astype(x_BTD.dtype), placement)
        else:
            y_BTD = self._up_to_capacity(x_BTD, is_chosen_BTRE, share_BTR, placement)
        return y_BTD, uneven_B

    def _bend(self, x: jax.Array) -> jax.Array:
        return jax.nn.silu(x) if self.config.feed_forward is FeedForwardKind.SWIGLU else jax.nn.gelu(x)

    def _with_whole(self, compute: Callable[..., jax.Array], placement: Placement, by_token: bool, *rows: jax.Array):  # type: ignore[no-untyped-def]
        params = (self.gate_EDF, self.up_EDF, self.down_EFD)
        return used(compute, params, placement, rows[0].dtype, *rows, by_token=by_token)

    def _up_to_capacity(
        self, x_BTD: jax.Array, is_chosen_BTRE: jax.Array, share_BTR: jax.Array, placement: Placement
    ) -> jax.Array:
        """An expert takes the first C tokens of a row, those first whose best it is; the others pass it by."""
        C = self.config.places_per_expert
        B, T, R, E = is_chosen_BTRE.shape
        in_turn_BSE = jnp.moveaxis(is_chosen_BTRE, 2, 1).reshape(B, R * T, E).astype(jnp.int32)
        place_BSE = jnp.cumsum(in_turn_BSE, axis=1) - 1
        place_BTRE = jnp.moveaxis(place_BSE.reshape(B, R, T, E), 1, 2)
        takes_BTREC = is_chosen_BTRE[..., None] & (place_BTRE[..., None] == jnp.arange(C)[None, None, None, None])
        goes_BTEC = jnp.any(takes_BTREC, axis=2).astype(x_BTD.dtype)
        comes_BTEC = jnp.einsum("BTREC,BTR->BTEC", takes_BTREC.astype(jnp.float32), share_BTR).astype(x_BTD.dtype)

        def on_one(gate_EDF: jax.Array, up_EDF: jax.Array, down_EFD: jax.Array, x_BECD: jax.Array) -> jax.Array:
            experts = placement.manual("expert")
            if experts:  # all rows of the group for the experts that are here
                x_BECD = jax.lax.all_to_all(x_BECD, experts, split_axis=1, concat_axis=0, tiled=True)
            h_BECF = self._bend(jnp.einsum("BECD,EDF->BECF", x_BECD, gate_EDF))
            h_BECF = h_BECF * jnp.einsum("BECD,EDF->BECF", x_BECD, up_EDF)
            y_BECD = jnp.einsum("BECF,EFD->BECD", h_BECF, down_EFD)
            if experts:
                y_BECD = jax.lax.all_to_all(y_BECD, experts, split_axis=0, concat_axis=1, tiled=True)
            return y_BECD

        x_BECD = placement.split(jnp.einsum("BTEC,BTD->BECD", goes_BTEC, x_BTD), ("batch", None, None, None))
        y_BECD = self._with_whole(on_one, placement, False, x_BECD)
        return jnp.einsum("BTEC,BECD->BTD", comes_BTEC, y_BECD)

    def _all(self, x_BTD: jax.Array, chosen_BTR: jax.Array, share_BTR: jax.Array, placement: Placement) -> jax.Array:
        """No token is passed by: tokens sorted by expert, products of ragged groups. The devices of an expert group
        see each other's tokens and sum what their experts make of them."""

        def on_one(
            gate_EDF: jax.Array, up_EDF: jax.Array, down_EFD: jax.Array, x_BTD: jax.Array, chosen_BTR: jax.Array,
            share_BTR: jax.Array,
        ) -> jax.Array:  # fmt: skip
            experts, here = placement.manual("expert"), gate_EDF.shape[0]
            expert_M = chosen_BTR.reshape(-1)
            if experts:
                x_BTD, chosen_BTR, share_BTR = (
                    jax.lax.all_gather(each, experts, tiled=True) for each in (x_BTD, chosen_BTR, share_BTR)
                )
                expert_M = chosen_BTR.reshape(-1) - here * jax.lax.axis_index(experts)
            mine_M = (expert_M >= 0) & (expert_M < here)
            order_M = jnp.argsort(jnp.where(mine_M, expert_M, here))
            sizes_E = jnp.sum(expert_M[:, None] == jnp.arange(here)[None], axis=0, dtype=jnp.int32)
            token_M = order_M // chosen_BTR.shape[-1]
            x_ND = x_BTD.reshape(-1, x_BTD.shape[-1])
            x_MD = x_ND[token_M]
            h_MF = self._bend(jax.lax.ragged_dot(x_MD, gate_EDF, sizes_E)) * jax.lax.ragged_dot(x_MD, up_EDF, sizes_E)
            y_MD = jax.lax.ragged_dot(h_MF, down_EFD, sizes_E) * share_BTR.reshape(-1)[order_M][:, None]
            y_ND = jnp.zeros_like(x_ND).at[token_M].add(jnp.where(mine_M[order_M][:, None], y_MD, 0))
            y_BTD = y_ND.reshape(x_BTD.shape)
            return jax.lax.psum_scatter(y_BTD, experts, tiled=True) if experts else y_BTD

        return self._with_whole(on_one, placement, True, x_BTD, chosen_BTR, share_BTR)
