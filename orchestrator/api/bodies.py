"""Request bodies, read with a limit: a body that is too large is refused before it is in memory."""

from typing import Final, TypeVar

from fastapi import Request
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException

from orchestrator.domain.errors import Fault, InvalidInput

MIB: Final = 1 << 20

Message = TypeVar("Message")


async def read_json_body(request: Request, limit: int) -> bytes:
    """The bytes of a body that is declared to be JSON. Refuses other types (415) and more than `limit` bytes (413)."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"send application/json, not {kind[:80] or 'a body without a content type'}")
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > limit:
        raise _too_large(limit)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


async def read_wire(request: Request, message: TypeAdapter[Message], limit: int) -> Message:
    """A message of our own protocol. The sender is our own code: its faults are told, not explained."""
    body = await read_json_body(request, limit)
    try:
        return message.validate_json(body, strict=True)
    except ValidationError as error:
        faults = [Fault(".".join(map(str, found["loc"])), found["msg"]) for found in error.errors(include_url=False)]
        raise InvalidInput(tuple(faults[:20])) from None


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"the body may hold at most {limit} bytes")
