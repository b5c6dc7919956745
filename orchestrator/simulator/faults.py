"""When slices are lost and come back, and programs fail: from a seeded model; losses also from a file.

Losses of a slice are a Poisson process: each of its hosts fails with the given mean time between failures, and a spot
slice is also taken by its provider. A slice is an atom: one host takes it down.
"""

import csv
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.domain.ids import SliceId
from orchestrator.domain.job import Attempt, Slice

_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Loss:
    """A slice goes down at `at_ms` and is back at `back_at_ms`."""

    slice_id: SliceId
    at_ms: int
    back_at_ms: int
    spot: bool
    """The provider took it; otherwise a host died."""


@dataclass(frozen=True, slots=True)
class FaultModel:
    """Mean times in hours; None: it does not happen."""

    host_mtbf_h: float | None = None
    spot_mtbf_h: float | None = None
    """Of one spot slice."""
    repair_h: float = 0.5
    """Mean time until a lost slice is back; exponential."""
    error_share: float = 0.0
    """Of attempts whose program ends with an error, at a moment that is uniform over its run."""
    seed: int = 0

    def fails_after(self, attempt: Attempt) -> float | None:
        """At what part of its run (0 to 1) this attempt's program fails; None if it does not."""
        draw = random.Random(f"{self.seed}/{attempt.job_id}/{attempt.number}")
        return draw.random() if draw.random() < self.error_share else None

    def losses(self, known: Slice) -> Iterator[Loss]:
        """The slice's losses, without end, in order; the same for the same seed and slice."""
        draw = random.Random(f"{self.seed}/{known.id}")
        host = known.shape.hosts / self.host_mtbf_h if self.host_mtbf_h else 0.0
        spot = 1 / self.spot_mtbf_h if self.spot_mtbf_h and known.capacity == "spot" else 0.0
        if host + spot == 0:
            return
        at_h = 0.0
        while True:
            at_h += draw.expovariate(host + spot)
            back_h = at_h + draw.expovariate(1 / self.repair_h)
            by_provider = draw.random() < spot / (host + spot)
            yield Loss(known.id, int(at_h * _HOUR_MS), int(back_h * _HOUR_MS) + 1, by_provider)
            at_h = back_h


def read_losses(path: Path) -> Mapping[SliceId, tuple[Loss, ...]]:
    """Losses from a CSV with the columns `slice,at_s,back_at_s,kind` (kind `spot` or `host`).

    Raises:
        ValueError: a line does not hold them.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        return _by_slice(_loss(row, number) for number, row in enumerate(csv.DictReader(lines), start=2))


def _loss(row: Mapping[str, str], number: int) -> Loss:
    try:
        at_ms, back_at_ms = round(float(row["at_s"]) * 1000), round(float(row["back_at_s"]) * 1000)
        kind, slice_id = row["kind"], SliceId(row["slice"])
    except (KeyError, ValueError) as error:
        raise ValueError(f"line {number}: {error!r}") from None
    if kind not in ("spot", "host") or back_at_ms <= at_ms:
        raise ValueError(f"line {number}: kind is spot or host, and a slice comes back after it went")
    return Loss(slice_id, at_ms, back_at_ms, kind == "spot")


def _by_slice(losses: Iterable[Loss]) -> Mapping[SliceId, tuple[Loss, ...]]:
    found: dict[SliceId, tuple[Loss, ...]] = {}
    for loss in sorted(losses, key=lambda loss: loss.at_ms):
        found[loss.slice_id] = (*found.get(loss.slice_id, ()), loss)
    return found
