"""Parameters that several resources take: cursors, limits, versions, idempotency keys."""

import re
from collections.abc import Callable
from typing import Annotated, Final

from fastapi import Depends, Header, Query, Response

from orchestrator.domain.errors import Fault, InvalidInput, Stale
from orchestrator.store.commands.jobs import IdempotencyKey

Limit = Annotated[int, Query(ge=1, le=200, description="at most so many items")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="the client's name for this submission: sent again with the same body it has no further effect",
    ),
]


def idempotency(token_id: str, key: str | None, part: int | None = None) -> IdempotencyKey | None:
    """The caller's name for a submission, or for one part of several."""
    if key is None:
        return None
    return IdempotencyKey(token_id, key if part is None else f"{key}#{part}")


_ETAG: Final = re.compile(r'"(\d{1,18})"')


def place(cursor: str | None) -> int | None:
    """Where a page begins, as the page before said.

    Raises:
        InvalidInput: it is none of ours.
    """
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 18:
        raise InvalidInput((Fault("cursor", "is not one that this API gave out"),))
    return int(cursor)


def refuse_foreign_cursor(cursor: str | None, ours: Callable[[str], bool]) -> None:
    """Raises InvalidInput if a page before cannot have said that."""
    if cursor is not None and not ours(cursor):
        raise InvalidInput((Fault("cursor", "is not one that this API gave out"),))


def _version(
    if_match: Annotated[
        str | None, Header(description="the ETag that was seen: refuses what was changed since")
    ] = None,
) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    found = _ETAG.fullmatch(if_match.strip())
    if found is None:
        raise InvalidInput((Fault("header.If-Match", "is not an ETag that this API gave out"),))
    return int(found[1])


SeenVersion = Annotated[int | None, Depends(_version)]
"""The version that the caller saw, if they say; a change of another one is refused."""


def refuse_stale(version: int, seen: int | None) -> None:
    """Raises Stale if the caller saw another version."""
    if seen is not None and seen != version:
        raise Stale(f"it is at version {version}, not {seen}; look at it again")


def tag(response: Response, version: int) -> None:
    """Tell the version of what is answered."""
    response.headers["ETag"] = f'"{version}"'
