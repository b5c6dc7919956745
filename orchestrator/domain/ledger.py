"""The ledger's buckets: each allocated chip-millisecond is in exactly one."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Bucket(StrEnum):
    """What an allocated slice was doing."""

    LAUNCH = "launch"
    """From the order to the first report of rank 0, or to the gang's start if it never reports."""
    INIT = "init"
    COMPILE = "compile"
    RESTORE = "restore"
    PRODUCTIVE = "productive"
    LOST = "lost"
    """Was productive, until a restart undid the steps."""
    CHECKPOINT = "checkpoint"
    """Only the time for which a save blocked the loop."""
    EVAL = "eval"
    UNREPORTED = "unreported"
    """After the last report: undetected death. Before the first step of a program that reports no phases. All of the
    time of one that reports nothing."""
    DRAIN = "drain"
    """From the detected end to the last process gone."""


OF_PHASE: Final[Mapping[str, Bucket]] = MappingProxyType(
    {
        "init": Bucket.INIT,
        "join": Bucket.INIT,
        "compile": Bucket.COMPILE,
        "restore": Bucket.RESTORE,
        "train": Bucket.PRODUCTIVE,
        "checkpoint": Bucket.CHECKPOINT,
        "eval": Bucket.EVAL,
    }
)
"""The bucket of each phase that a rank may report."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Chip-milliseconds by bucket."""

    chip_ms: Mapping[Bucket, int]

    @property
    def allocated(self) -> int:
        return sum(self.chip_ms.values())

    @property
    def goodput(self) -> float | None:
        """Productive over allocated, 0 to 1; None when nothing was allocated."""
        return self.chip_ms.get(Bucket.PRODUCTIVE, 0) / self.allocated if self.allocated else None
