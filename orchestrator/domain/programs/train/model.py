"""The Transformer's sizes and kinds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from orchestrator.domain.faults import STRICT, SpecError
from orchestrator.domain.programs.train.checks import fraction, positive


class Compute(Enum):
    """The number type of activations; parameters, optimizer, softmax and loss are always float32."""

    AUTO = "auto"
    """bfloat16 where the hardware has it, float32 on CPU, which gains nothing from bfloat16."""
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class Positions(Enum):
    ROTARY = "rotary"
    LEARNED = "learned"


class NormKind(Enum):
    RMS = "rms"
    LAYER = "layer"


class NormAt(Enum):
    """Where a branch is normed: before it, after it was added, or before it and once more before it is added."""

    PRE = "pre"
    POST = "post"
    BOTH = "both"


class FeedForwardKind(Enum):
    """GELU between two layers, or two gated layers: SiLU (Llama) or GELU (Gemma) times a linear one."""

    GELU = "gelu"
    SWIGLU = "swiglu"
    GEGLU = "geglu"


class Output(Enum):
    """The output layer: the embedding again, or a matrix of its own."""

    TIED = "tied"
    FREE = "free"


class Layers(Enum):
    """One program per block, which runs fastest, or one loop over stacked blocks, which compiles fastest."""

    UNROLLED = "unrolled"
    SCANNED = "scanned"


class Remat(Enum):
    """What the backward pass computes again: nothing, all but the products of weights, or whole blocks."""

    NONE = "none"
    DOTS = "dots"
    BLOCK = "block"


class AttentionKind(Enum):
    """AUTO is SPLASH on TPU where T and K allow it, else DOT; the values are the same within rounding."""

    AUTO = "auto"
    DOT = "dot"
    SPLASH = "splash"


@dataclass(frozen=True, slots=True)
class RotaryScaling:
    """Llama 3.1's stretch of the slow rotations, for contexts longer than `original`."""

    __pydantic_config__ = STRICT

    factor: float = 8.0
    low_frequency: float = 1.0
    high_frequency: float = 4.0
    original: int = 8192

    def __post_init__(self) -> None:
        positive(self, "factor", "low_frequency", "original")
        if not self.high_frequency > self.low_frequency:
            raise SpecError("high_frequency", f"high_frequency={self.high_frequency} must be more than low_frequency")


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The letters are those of the code's array names."""

    __pydantic_config__ = STRICT

    T: int = 64
    """tokens of context"""
    D: int = 96
    """width of the model"""
    H: int = 4
    """attention heads"""
    L: int = 2
    """blocks"""
    F: int = 384
    """width of the feed-forward layer"""
    V: int = 256
    """vocabulary; text is read byte by byte unless `data.tokenizer` says otherwise"""
    kv_heads: int | None = None
    """heads of keys and values, each shared by H / kv_heads queries; None: H"""
    head_width: int | None = None
    """None: D / H"""
    positions: Positions = Positions.ROTARY
    rotary_base: float = 10_000.0
    rotary_scaling: RotaryScaling | None = None
    norm: NormKind = NormKind.RMS
    norm_at: NormAt = NormAt.PRE
    norm_epsilon: float = 1e-6
    feed_forward: FeedForwardKind = FeedForwardKind.GELU
    output: Output = Output.TIED
    scale_embedding: bool = True
    """tokens enter as their embedding times the square root of D"""
    qk_norm: bool = False
    """queries and keys are normed head by head"""
    query_width: float | None = None
    """scores are divided by its square root; None: the head's width"""
    attention_cap: float | None = None
    """scores are bent into ±cap by tanh"""
    logit_cap: float | None = None
    """the same for the logits"""
    window: int | None = None
    """tokens that a place sees, itself included; None: all before it"""
    global_every: int | None = None
    """every nth block sees all tokens in spite of `window`; None: no block does"""
    dropout: float = 0.0
    """of the embedded tokens and of each branch before it is added"""
    attention: AttentionKind = AttentionKind.AUTO
    layers: Layers = Layers.UNROLLED
    remat: Remat = Remat.NONE
    compute: Compute = Compute.AUTO

    def __post_init__(self) -> None:
        positive(self, "T", "D", "H", "L", "F", "V", "kv_heads", "head_width", "rotary_base", "norm_epsilon")
        positive(self, "query_width", "attention_cap", "logit_cap", "window", "global_every")
        fraction(self, "dropout")
        if self.head_width is None and self.D % self.H:
            raise SpecError("D", f"D={self.D} is not divisible by H={self.H}")
        if self.H % self.G:
            raise SpecError("kv_heads", f"H={self.H} is not divisible by kv_heads={self.G}")
        if self.positions is Positions.ROTARY and self.K % 2:
            raise SpecError(
                "D" if self.head_width is None else "head_width",
                f"D={self.D} over H={self.H} heads is {self.K} wide: rotary positions need an even width"
                if self.head_width is None
                else f"head_width={self.K} must be even for rotary positions",
            )
        if self.rotary_scaling is not None and self.positions is not Positions.ROTARY:
            raise SpecError("rotary_scaling", "rotary_scaling needs positions=rotary")
        if self.global_every is not None and self.window is None:
            raise SpecError("global_every", "global_every means nothing without a window")
        if self.layers is Layers.SCANNED and self.L % self.period:
            raise SpecError("L", f"L={self.L} is not divisible by global_every={self.period}, as scanned layers need")

    @property
    def K(self) -> int:  # noqa: N802  # a size letter like the others
        """Width of one head."""
        return self.head_width or self.D // self.H

    @property
    def G(self) -> int:  # noqa: N802
        """Heads of keys and values."""
        return self.kv_heads or self.H

    @property
    def period(self) -> int:
        """Blocks after which their kinds repeat."""
        return self.global_every or 1

    def window_of(self, block: int) -> int | None:
        """The window of one block, counted from 0; None is all tokens."""
        is_global = self.global_every is not None and (block + 1) % self.global_every == 0
        return None if is_global or self.window is None or self.window >= self.T else self.window

    @property
    def parameters(self) -> int:
        """How many numbers the model has."""
        attention = 2 * self.D * self.K * (self.H + self.G) + 2 * self.K * self.qk_norm
        branches = attention + self._feed_forward_parameters
        norms = {NormAt.PRE: 2, NormAt.POST: 2, NormAt.BOTH: 4}[self.norm_at] * self.D
        outside = self.V * self.D * (1 if self.output is Output.TIED else 2)
        outside += self.T * self.D * (self.positions is Positions.LEARNED) + self.D * (self.norm_at is not NormAt.POST)
        return self.L * (branches + norms) + outside

    @property
    def flops_per_token(self) -> float:
        """Of a training step's matrix products, forward and backward, each counted once: what MFU is measured by.

        Scores are counted where a place may look: half of T x T under the causal mask, the window's band under one.
        """
        weights = 2 * self.D * self.K * (self.H + self.G) + self._feed_forward_parameters
        seen = [_mean_seen(self.T, self.window_of(block)) for block in range(self.L)]
        scores = sum(2 * self.H * self.K * tokens for tokens in seen)
        return 6.0 * (self.L * weights + scores + self.V * self.D)

    @property
    def _feed_forward_parameters(self) -> int:
        return self.D * self.F * (2 if self.feed_forward is FeedForwardKind.GELU else 3)


def _mean_seen(tokens: int, window: int | None) -> float:
    """Places that a place may look at, itself included, on average."""
    width = min(window or tokens, tokens)
    return (width * (width + 1) / 2 + (tokens - width) * width) / tokens
