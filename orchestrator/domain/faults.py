"""How a spec says that one of its fields is wrong."""

from typing import Final

STRICT: Final = {"extra": "forbid", "strict": True}
"""Read by pydantic at the edges: unknown keys and silent conversions are refused."""


class SpecError(ValueError):
    """A field of the spec is wrong: `field` is its path below the object that raised."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
