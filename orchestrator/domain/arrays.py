"""Arrays: one spec and many sets of parameters, each a job. Pure."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

MOST: Final = 1_000


class ArrayError(ValueError):
    """The parameters do not fit; `path` says where."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def parameter_sets(
    grid: Mapping[str, Sequence[Any]] | None, sets: Sequence[Mapping[str, Any]] | None
) -> list[dict[str, Any]]:
    """Every combination of a grid's values, the last parameter changing fastest; or the sets as listed.

    Raises:
        ArrayError: both are given or none, or there are too many or too few.
    """
    if (grid is None) == (sets is None):
        raise ArrayError("", "give either grid or sets")
    found = [dict(one) for one in sets or ()] if grid is None else _combinations(grid)
    if not 1 <= len(found) <= MOST:
        raise ArrayError("grid" if sets is None else "sets", f"must make 1 to {MOST} jobs, makes {len(found)}")
    return found


def _combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    total = 1
    for values in grid.values():
        total *= len(values)
    if not grid or total > MOST:
        raise ArrayError("grid", f"must make 1 to {MOST} jobs, makes {total if grid else 0}")
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def with_parameters(spec: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with each parameter at its path (`program.config.optimizer.lr`); objects on the way are made.

    Raises:
        ArrayError: a path leads through something that is no object.
    """
    made = dict(spec)
    for path, value in parameters.items():
        made = _with(made, path.split("."), value, path)
    return made


def _with(here: Mapping[str, Any], steps: Sequence[str], value: Any, path: str) -> dict[str, Any]:
    first, rest = steps[0], steps[1:]
    if not rest:
        return {**here, first: value}
    below = here.get(first) if here.get(first) is not None else {}
    if not isinstance(below, Mapping):
        raise ArrayError(path, f"leads through {first!r}, which is no object")
    return {**here, first: _with(below, rest, value, path)}
