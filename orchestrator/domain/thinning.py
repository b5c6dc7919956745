"""Fewer points that look like all of them: of each stretch its lowest and its highest stay, where they were. Pure."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def thinned(points: Sequence[T], most: int, value_of: Callable[[T], float]) -> tuple[T, ...]:
    """At most about `most` of the points, in their order: the first and the last, the minimum and the maximum of each
    of equally long stretches, and the first value of each stretch that is not finite."""
    if len(points) <= most:
        return tuple(points)
    stretches = max(1, (most - 2) // 3)
    kept = {0, len(points) - 1}
    for n in range(stretches):
        stretch = range(n * len(points) // stretches, (n + 1) * len(points) // stretches)
        finite = [index for index in stretch if math.isfinite(value_of(points[index]))]
        if finite:
            kept.add(min(finite, key=lambda index: value_of(points[index])))
            kept.add(max(finite, key=lambda index: value_of(points[index])))
        if len(finite) < len(stretch):
            kept.add(next(index for index in stretch if not math.isfinite(value_of(points[index]))))
    return tuple(points[index] for index in sorted(kept))
