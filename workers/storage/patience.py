"""Trying again: which answers of a bucket are worth it, how long in between, and until when."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 16.0
# Within a save's own deadline, and longer than the brown-outs that a bucket's regions had: those took some ten seconds.
PATIENCE_S = 120.0


@dataclass(slots=True)
class Patience:
    """The time that one call may take with all its tries. Pauses double, and are drawn from 0 to their length, so that
    the hosts of a large gang do not come back all at once."""

    limit_s: float = PATIENCE_S
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    draw: Callable[[float, float], float] = random.uniform
    tries: int = 0
    _begin: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._begin = self.monotonic()

    @property
    def left_s(self) -> float:
        return self._begin + self.limit_s - self.monotonic()

    def pause(self) -> bool:
        """Wait before the next try. False, at once, when there is no time for another."""
        longest = min(FIRST_PAUSE_S * 2**self.tries, LONGEST_PAUSE_S)
        self.tries += 1
        pause = self.draw(0, longest)
        if pause >= self.left_s:
            return False
        self.sleep(pause)
        return True
