"""How fast it goes and what holds it up: times of a step's parts, and the use made of the chips."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import jax

from orchestrator.domain.programs.train import TrainConfig

log = logging.getLogger(__name__)

_PEAK_FLOPS = {
    "TPU v4": 275e12,
    "TPU v5 lite": 197e12,
    "TPU v5": 459e12,
    "TPU v6 lite": 918e12,
}
"""Of a chip with bfloat16 products, by JAX's name of its kind; what is not here has no MFU."""
_STARVED = 0.2
"""Part of a step spent waiting for its batch from which on the data is called too slow."""


@dataclass(slots=True)
class Speed:
    """Times of the steps since the last report. Times outside the steps (saves, evaluations) are left out."""

    config: TrainConfig
    now: Callable[[], float] = time.monotonic
    step: int = 0
    _since: float = 0.0
    _waited: float = 0.0
    _starved: bool = False

    def begin(self, step: int) -> None:
        """Count from here."""
        self.step, self._since, self._waited = step, self.now(), 0.0

    def waited(self, seconds: float) -> None:
        """A step waited so long for its batch."""
        self._waited += seconds

    def outside(self, seconds: float) -> None:
        """So long no step ran."""
        self._since += seconds

    def report(self, step: int) -> dict[str, float]:
        """Means over the steps up to `step`, whose end was seen just now; begins anew."""
        steps = step - self.step
        seconds, input_seconds = (self.now() - self._since) / steps, self._waited / steps
        tokens_per_second = self.config.data.batch * self.config.model.T / seconds
        flops = tokens_per_second * self.config.model.flops_per_token
        values = {
            "step_ms": seconds * 1000,
            "input_ms": input_seconds * 1000,
            "tokens_per_second": tokens_per_second,
            "model_flops_per_second": flops,
        }
        if (peak := _PEAK_FLOPS.get(jax.devices()[0].device_kind)) is not None:
            values["mfu"] = flops / (peak * jax.device_count())
        self._say_when_starved(step, input_seconds, seconds)
        self.begin(step)
        return values

    def _say_when_starved(self, step: int, input_seconds: float, seconds: float) -> None:
        starved = input_seconds > _STARVED * seconds
        if starved and not self._starved:
            log.warning(
                "step %d: starved of input: %.1f of each step's %.1f ms were spent waiting for its batch",
                step, input_seconds * 1000, seconds * 1000,
            )  # fmt: skip
        self._starved = starved


def memory() -> dict[str, float]:
    """The most that this process's first device has held, where the backend counts it."""
    counted = jax.local_devices()[0].memory_stats() or {}
    return {"peak_device_bytes": float(counted["peak_bytes_in_use"])} if "peak_bytes_in_use" in counted else {}
