"""The ranks' side: spools, logs and artifacts by byte offset, at least once."""

import base64
import binascii
from typing import Final

from fastapi import APIRouter, Request, Response

from orchestrator.api.auth import OfAttempt
from orchestrator.api.bodies import MIB, read_wire
from orchestrator.api.deps import WithDeps
from orchestrator.domain.bundles import BadBundle, checked_path
from orchestrator.domain.errors import Conflict, Fault, InvalidInput
from orchestrator.protocol import (
    ARTIFACTS_POST,
    ARTIFACTS_REPLY,
    INGEST_POST,
    INGEST_REPLY,
    VERSION,
    ArtifactChunk,
    ArtifactsReply,
    IngestPost,
    IngestReply,
)
from orchestrator.store.artifacts import Part, Skipped, Version, take_in
from orchestrator.store.ingest import Piece

_MAX: Final = 2**62
"""Of ranks, far too many; of offsets, more than any disk: keeps all sums within 64 bits."""

router = APIRouter(prefix="/api/v1/ingest", tags=["ingest"])


@router.post("/{attempt_id}")
async def post_chunks(attempt: OfAttempt, request: Request, deps: WithDeps) -> Response:
    pieces = _pieces(await read_wire(request, INGEST_POST, 32 * MIB))
    offsets = await deps.intake.take(attempt, pieces, deps.clock.now_ms())
    return Response(INGEST_REPLY.dump_json(IngestReply(offsets)), media_type="application/json")


@router.post("/{attempt_id}/artifacts")
async def post_artifacts(attempt: OfAttempt, request: Request, deps: WithDeps) -> Response:
    post = await read_wire(request, ARTIFACTS_POST, 32 * MIB)
    if post.version != VERSION:
        raise Conflict(f"this server speaks version {VERSION} of the protocol, not {post.version}")
    parts = [_part(chunk, f"chunks[{index}]") for index, chunk in enumerate(post.chunks)]
    skipped = [
        Skipped(_rank(one.rank, at), _path(one.path, at), one.why.replace("\0", "")[:500])
        for index, one in enumerate(post.skipped)
        for at in (f"skipped[{index}]",)
    ]
    offsets = await take_in(deps.database, deps.blobs, attempt, parts, skipped, deps.clock.now_ms())
    return Response(ARTIFACTS_REPLY.dump_json(ArtifactsReply(offsets)), media_type="application/json")


def _part(chunk: ArtifactChunk, at: str) -> Part:
    if not (0 <= chunk.offset <= chunk.size < _MAX and 0 <= chunk.modified_ns < _MAX):
        raise InvalidInput((Fault(at, "size, offset and time must not be negative, nor beyond reason"),))
    of = Version(_rank(chunk.rank, at), _path(chunk.path, at), chunk.size, chunk.modified_ns)
    return Part(of, chunk.offset, _bytes(chunk.data, at))


def _rank(rank: int, at: str) -> int:
    if not 0 <= rank < 2**31:
        raise InvalidInput((Fault(f"{at}.rank", "must not be negative, nor beyond reason"),))
    return rank


def _path(path: str, at: str) -> str:
    try:
        return checked_path(path)
    except BadBundle as error:
        raise InvalidInput((Fault(f"{at}.path", str(error)),)) from None


def _bytes(data: str, at: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise InvalidInput((Fault(f"{at}.data", f"is not base64: {error}"),)) from None


def _pieces(post: IngestPost) -> list[Piece]:
    if post.version != VERSION:
        raise Conflict(f"this server speaks version {VERSION} of the protocol, not {post.version}")
    pieces = []
    for index, chunk in enumerate(post.chunks):
        if not 0 <= chunk.rank < 2**31 or not 0 <= chunk.offset < _MAX:
            raise InvalidInput((Fault(f"chunks[{index}]", "rank and offset must not be negative, nor beyond reason"),))
        data = _bytes(chunk.data, f"chunks[{index}]")
        pieces.append(Piece(chunk.rank, chunk.stream, chunk.offset, data, chunk.final))
    return pieces
