"""JSON as RFC 8259 has it, without what Python's parser lets pass besides: NaN, repeated keys, overflowing numbers."""

import json
import math
from typing import Any, Final, Never

MAX_DEPTH: Final = 32


class NotStrictJson(ValueError):
    """The text is not JSON, or not JSON that everybody reads alike; the message says where."""


def parse(data: bytes) -> Any:
    """The value that `data` spells.

    Raises:
        NotStrictJson: bytes that are not UTF-8, syntax errors, repeated keys, NaN and infinities, numbers that no float
            holds, halves of surrogate pairs, and nesting deeper than `MAX_DEPTH`.
    """
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
        _refuse_depth_and_surrogates(value)
    except UnicodeDecodeError as error:
        raise NotStrictJson(f"is not UTF-8: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        raise NotStrictJson(f"is not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise NotStrictJson(f"is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        # Python refuses integers of more than 4300 digits with a plain ValueError.
        raise error if isinstance(error, NotStrictJson) else NotStrictJson(f"is not JSON: {error}") from None
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise NotStrictJson(f"holds the key {key[:80]!r} twice in one object")
        found[key] = value
    return found


def _refuse_constant(name: str) -> Never:
    raise NotStrictJson(f"holds {name}, which is not JSON; write it as a string")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotStrictJson(f"holds {digits[:40]}, which no 64-bit float can hold")
    return number


def _refuse_depth_and_surrogates(value: Any) -> None:
    level = [value]
    depth = 0
    while level:
        if depth > MAX_DEPTH:
            raise NotStrictJson(f"is nested deeper than {MAX_DEPTH} levels")
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _refuse_surrogates(item)
            elif isinstance(item, list):
                below += item
            elif isinstance(item, dict):
                below += [*item, *item.values()]
        level, depth = below, depth + 1


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotStrictJson("holds half of a surrogate pair, which is no character") from None
