"""The ranks' side: spools and logs by byte offset, at least once."""

import base64
import binascii
from typing import Final

from fastapi import APIRouter, Request, Response

from orchestrator.api.auth import OfAttempt
from orchestrator.api.bodies import MIB, read_wire
from orchestrator.api.deps import WithDeps
from orchestrator.domain.errors import Conflict, Fault, InvalidInput
from orchestrator.protocol import INGEST_POST, INGEST_REPLY, VERSION, IngestPost, IngestReply
from orchestrator.store.ingest import Piece, ingest

_MAX: Final = 2**62
"""Of ranks, far too many; of offsets, more than any disk: keeps all sums within 64 bits."""

router = APIRouter(prefix="/api/v1/ingest", tags=["ingest"])


@router.post("/{attempt_id}")
async def post_chunks(attempt: OfAttempt, request: Request, deps: WithDeps) -> Response:
    pieces = _pieces(await read_wire(request, INGEST_POST, 32 * MIB))
    offsets = await ingest(deps.database, deps.blobs, attempt, pieces, deps.clock.now_ms())
    return Response(INGEST_REPLY.dump_json(IngestReply(offsets)), media_type="application/json")


def _pieces(post: IngestPost) -> list[Piece]:
    if post.version != VERSION:
        raise Conflict(f"this server speaks version {VERSION} of the protocol, not {post.version}")
    pieces = []
    for index, chunk in enumerate(post.chunks):
        if not 0 <= chunk.rank < 2**31 or not 0 <= chunk.offset < _MAX:
            raise InvalidInput((Fault(f"chunks[{index}]", "rank and offset must not be negative, nor beyond reason"),))
        try:
            data = base64.b64decode(chunk.data, validate=True)
        except binascii.Error as error:
            raise InvalidInput((Fault(f"chunks[{index}].data", f"is not base64: {error}"),)) from None
        pieces.append(Piece(chunk.rank, chunk.stream, chunk.offset, data, chunk.final))
    return pieces
