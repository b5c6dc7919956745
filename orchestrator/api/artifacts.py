"""Artifacts of a job: list, download, a glimpse. Bytes of users are sent as attachments, never as pages to look at."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict

from orchestrator.api.auth import User
from orchestrator.api.deps import Deps, WithDeps
from orchestrator.api.parameters import Limit, place
from orchestrator.domain.artifacts import IMAGE_BYTES, preview
from orchestrator.domain.errors import Conflict
from orchestrator.store import strict_json
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import artifacts, jobs
from orchestrator.store.queries.artifacts import Artifact, ArtifactFilter

router = APIRouter(prefix="/api/v1/jobs/{job}/artifacts", tags=["artifacts"])

_PIECE: Final = 1 << 20
State = Literal["arriving", "kept", "skipped"]
Id = Annotated[int, Path(ge=1, le=2**63 - 1)]


class ArtifactView(BaseModel):
    id: int
    attempt: int
    rank: int
    path: str
    size: int
    modified_at_ms: int
    state: State
    """Only what is kept is whole, and can be had."""
    stored: int
    note: str
    """Why a skipped one was not taken."""

    @classmethod
    def of(cls, known: Artifact) -> "ArtifactView":
        return cls(
            id=known.row_id,
            attempt=known.attempt,
            rank=known.rank,
            path=known.path,
            size=known.size,
            modified_at_ms=known.modified_ns // 1_000_000,
            state=known.state,  # type: ignore[arg-type]  # the table holds no other
            stored=known.stored,
            note=known.note,
        )


class ArtifactList(BaseModel):
    items: list[ArtifactView]
    next_cursor: str | None


class PreviewView(BaseModel):
    """The beginning of a file; which field is set depends on `kind`."""

    model_config = ConfigDict(from_attributes=True)

    kind: Literal["text", "json", "table", "png", "binary"]
    truncated: bool
    text: str | None
    value: Any
    rows: list[list[str]] | None
    image: str | None
    """Base64 of a PNG."""


@router.get("")
async def list_artifacts(
    job: str,
    who: User,
    deps: WithDeps,
    attempt: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    rank: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    state: State | None = None,
    prefix: Annotated[str | None, Query(max_length=240, description="of the path")] = None,
    limit: Limit = 50,
    cursor: str | None = None,
) -> ArtifactList:
    """In the order in which they came, of all attempts unless one is named."""
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        wanted = ArtifactFilter(attempt, rank, state, prefix)
        page = await artifacts.artifacts_of(tx, found.id, wanted, limit + 1, place(cursor))
    more = str(page[limit - 1].row_id) if len(page) > limit else None
    return ArtifactList(items=[ArtifactView.of(one) for one in page[:limit]], next_cursor=more)


@router.get(
    "/{artifact}/content",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
async def download_artifact(job: str, artifact: Id, who: User, deps: WithDeps) -> StreamingResponse:
    async with deps.database.read() as tx:
        found = await _kept(tx, job, artifact, who.projects)
    name = quote(found.path.rpartition("/")[2], safe="")
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        "Content-Length": str(found.size),
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(_whole(deps, found), media_type="application/octet-stream", headers=headers)


@router.get("/{artifact}/preview")
async def preview_artifact(job: str, artifact: Id, who: User, deps: WithDeps) -> PreviewView:
    """The first lines of a text, the first rows of a table, a small JSON document or PNG whole."""
    async with deps.database.read() as tx:
        found = await _kept(tx, job, artifact, who.projects)
    head = await asyncio.to_thread(deps.blobs.read, found.blob, 0, IMAGE_BYTES)
    return PreviewView.model_validate(preview(found.path, head, found.size, strict_json.parse))


async def _kept(tx: ReadTx, job: str, artifact: int, seen_by: Any) -> Artifact:
    found = await artifacts.artifact(tx, (await jobs.find(tx, job, seen_by)).id, artifact)
    if found.state != "kept":
        raise Conflict(f"artifact {artifact} was not kept: {found.note}" if found.note else "it is still arriving")
    return found


async def _whole(deps: Deps, found: Artifact) -> AsyncIterator[bytes]:
    for offset in range(0, found.size, _PIECE):
        yield await asyncio.to_thread(deps.blobs.read, found.blob, offset, min(_PIECE, found.size - offset))
