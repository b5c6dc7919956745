"""How a spec says that one of its fields is wrong."""

from collections.abc import Iterator, Mapping
from typing import Final

STRICT: Final = {"extra": "forbid", "strict": True}
"""Read by pydantic at the edges: unknown keys and silent conversions are refused."""


class SpecError(ValueError):
    """A field of the spec is wrong: `field` is its path below the object that raised."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


MAX_INTEGER: Final = 2**53 - 1
"""Beyond it readers of JSON differ, and no count of ours is meant."""


def large_integers(value: object, path: str = "") -> Iterator[str]:
    """Where in plain data integers are that no spec may hold, however deep."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from large_integers(inner, f"{path}.{str(key)[:80]}" if path else str(key)[:80])
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from large_integers(inner, f"{path}[{index}]")
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_INTEGER:
        yield path
