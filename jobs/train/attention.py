"""Causal attention: `jax.nn.dot_product_attention`, or Pallas' splash kernel on TPU. Softmax in float32 in each."""

from __future__ import annotations

from functools import lru_cache

import jax
import jax.numpy as jnp
from flax import nnx

from jobs.train.layers import Norm, Turn, capped, project, rotate, weight
from jobs.train.layout import Placement
from orchestrator.domain.programs.train import AttentionKind, ModelConfig

_SPLASH_BLOCK = 512
_SPLASH_MULTIPLE = 128
"""The kernel's tiles: T and K must be multiples of it."""


class Attention(nnx.Module):
    """Queries of H heads on keys and values of G, each key head shared by H / G queries."""

    def __init__(self, config: ModelConfig, block: int, rngs: nnx.Rngs) -> None:
        D, H, G, K = config.D, config.H, config.G, config.K
        self.config, self.window = config, config.window_of(block)
        self.q_DHK = weight(rngs, (D, H, K), ("embed", "heads", None), fan_in=D)
        self.k_DGK = weight(rngs, (D, G, K), ("embed", "kv_heads", None), fan_in=D)
        self.v_DGK = weight(rngs, (D, G, K), ("embed", "kv_heads", None), fan_in=D)
        self.out_HKD = weight(rngs, (H, K, D), ("heads", None, "embed"), fan_in=H * K)
        self.q_norm, self.k_norm = (Norm(K, config), Norm(K, config)) if config.qk_norm else (None, None)

    def __call__(
        self, x_BTD: jax.Array, placement: Placement, turn: Turn | None, segments_BT: jax.Array | None
    ) -> jax.Array:
        q_BTHK = project(x_BTD, self.q_DHK, placement)
        k_BSGK = project(x_BTD, self.k_DGK, placement)
        v_BSGK = project(x_BTD, self.v_DGK, placement)
        if self.q_norm is not None and self.k_norm is not None:
            q_BTHK, k_BSGK = self.q_norm(q_BTHK), self.k_norm(k_BSGK)
        if turn is not None:
            q_BTHK, k_BSGK = rotate(q_BTHK, turn), rotate(k_BSGK, turn)
        q_BTHK = placement.split(q_BTHK, ("batch", "time", "heads", None))
        # Every device needs the keys of all places; on one `sequence` device that is no collective.
        k_BSGK, v_BSGK = (placement.split(x, ("batch", None, "kv_heads", None)) for x in (k_BSGK, v_BSGK))
        mixed_BTHK = attend(q_BTHK, k_BSGK, v_BSGK, self.config, self.window, placement, segments_BT)
        return project(mixed_BTHK, self.out_HKD, placement, over=2)


def attend(
    q_BTHK: jax.Array,
    k_BSGK: jax.Array,
    v_BSGK: jax.Array,
    config: ModelConfig,
    window: int | None,
    placement: Placement,
    segments_BT: jax.Array | None = None,
) -> jax.Array:
    """Each place's mean of the values it may see: up to itself, within `window` and its own segment."""
    scale = (config.query_width or config.K) ** -0.5
    if _use_splash(config, placement):
        return _splash(q_BTHK * scale, k_BSGK, v_BSGK, window, config.attention_cap, placement, segments_BT)
    same_B1TS = None if segments_BT is None else (segments_BT[:, :, None] == segments_BT[:, None, :])[:, None]
    if config.attention_cap is not None:
        return _capped(q_BTHK * scale, k_BSGK, v_BSGK, window, config.attention_cap, same_B1TS)
    band = None if window is None else (window - 1, 0)
    return jax.nn.dot_product_attention(
        q_BTHK,
        k_BSGK,
        v_BSGK,
        mask=same_B1TS,
        scale=scale,
        is_causal=True,
        local_window_size=band,
        implementation="xla",
    )


def _capped(
    q_BTHK: jax.Array,
    k_BSGK: jax.Array,
    v_BSGK: jax.Array,
    window: int | None,
    cap: float,
    same_B1TS: jax.Array | None,
) -> jax.Array:
    """By hand: `jax.nn.dot_product_attention` knows no cap. R is the queries that share one key head."""
    B, T, H, K = q_BTHK.shape
    q_BTGRK = q_BTHK.reshape(B, T, k_BSGK.shape[2], -1, K)
    scores_BGRTS = jnp.einsum("BTGRK,BSGK->BGRTS", q_BTGRK, k_BSGK, preferred_element_type=jnp.float32)
    far_TS = jnp.arange(T)[:, None] - jnp.arange(T)[None, :]
    seen_BGRTS = ((far_TS >= 0) & (far_TS < (window or T)))[None, None, None]
    if same_B1TS is not None:
        seen_BGRTS = seen_BGRTS & same_B1TS[:, :, None]
    weights_BGRTS = jax.nn.softmax(jnp.where(seen_BGRTS, capped(scores_BGRTS, cap), -jnp.inf), axis=-1)
    return jnp.einsum("BGRTS,BSGK->BTGRK", weights_BGRTS.astype(v_BSGK.dtype), v_BSGK).reshape(B, T, H, K)


def splash_fits(config: ModelConfig, placement: Placement) -> bool:
    """Whether the kernel can do it: its tiles divide a head's width and each device's part of a context."""
    return config.K % _SPLASH_MULTIPLE == 0 and config.T % (_SPLASH_MULTIPLE * placement.ways("time")) == 0


def _use_splash(config: ModelConfig, placement: Placement) -> bool:
    if config.attention is AttentionKind.AUTO:
        return placement.platform == "tpu" and splash_fits(config, placement)
    return config.attention is AttentionKind.SPLASH


def _splash(
    q_BTHK: jax.Array,
    k_BSGK: jax.Array,
    v_BSGK: jax.Array,
    window: int | None,
    cap: float | None,
    placement: Placement,
    segments_BT: jax.Array | None,
) -> jax.Array:
    """Each device's queries on the keys of all places. The kernel knows by its sharded mask which queries those are."""
    from jax.experimental.pallas.ops.tpu.splash_attention import SegmentIds

    T, heads, parts = q_BTHK.shape[1], q_BTHK.shape[2] // placement.ways("heads"), placement.ways("time")
    kernel = _kernel(T, heads, window, cap, parts, placement.platform != "tpu")

    def one_device(kernel, q_BHTK, k_BGSK, v_BGSK, q_ids_BT, k_ids_BS):  # type: ignore[no-untyped-def]
        if q_ids_BT is None:
            return jax.vmap(kernel)(q_BHTK, k_BGSK, v_BGSK)
        return jax.vmap(kernel)(q_BHTK, k_BGSK, v_BGSK, SegmentIds(q_ids_BT, k_ids_BS))

    axes = {
        "q": ("batch", "heads", "time", None), "k": ("batch", "kv_heads", None, None), "q_ids": ("batch", "time"),
        "k_ids": ("batch", None), "mask": (None, "time"),
    }  # fmt: skip
    lies = {name: placement.sharding(logical) for name, logical in axes.items()}
    ids = (None, None) if segments_BT is None else (lies["q_ids"].spec, lies["k_ids"].spec)
    spread = jax.shard_map(
        one_device,
        mesh=placement.mesh,
        in_specs=(kernel.manual_sharding_spec(lies["mask"]), lies["q"].spec, lies["k"].spec, lies["k"].spec, *ids),
        out_specs=lies["q"].spec,
        check_vma=False,
    )
    q_BHTK, k_BGSK, v_BGSK = (jnp.moveaxis(x, 2, 1) for x in (q_BTHK, k_BSGK, v_BSGK))
    return jnp.moveaxis(spread(kernel, q_BHTK, k_BGSK, v_BGSK, segments_BT, segments_BT), 1, 2)


@lru_cache(maxsize=8)
def _masks(T: int, heads: int, window: int | None):  # type: ignore[no-untyped-def]  # the kernel's own type
    from jax.experimental.pallas.ops.tpu.splash_attention import CausalMask, LocalMask, MultiHeadMask

    one = CausalMask((T, T)) if window is None else LocalMask((T, T), (window - 1, 0), 0)
    return MultiHeadMask([one] * heads)


def _kernel(T: int, heads: int, window: int | None, cap: float | None, parts: int, interpret: bool):  # type: ignore[no-untyped-def]
    from jax.experimental.pallas.ops.tpu.splash_attention import BlockSizes, make_splash_mha

    block = next(size for size in (_SPLASH_BLOCK, 256, _SPLASH_MULTIPLE) if T // parts % size == 0)
    names = ("block_q", "block_kv", "block_kv_compute", "block_q_dkv", "block_kv_dkv", "block_kv_dkv_compute")
    sizes = BlockSizes(**dict.fromkeys((*names, "block_q_dq", "block_kv_dq"), block))
    return make_splash_mha(
        _masks(T, heads, window),
        block_sizes=sizes,
        attn_logits_soft_cap=cap,
        head_shards=1,
        q_seq_shards=parts,
        interpret=interpret,
    )
