"""Bundles of code of a project: uploaded once, named by their content, run by the jobs that name them."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from orchestrator.api.auth import OfAttempt, User
from orchestrator.api.deps import Deps, WithDeps
from orchestrator.api.parameters import Limit, refuse_foreign_cursor
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.domain.access import Role
from orchestrator.domain.bundles import MAX_ARCHIVE_BYTES, MIB, BadBundle, is_digest, read_archive
from orchestrator.domain.errors import Fault, InvalidInput, NotFound
from orchestrator.store.blobs import bundle_name
from orchestrator.store.commands import bundles as commands
from orchestrator.store.queries import bundles, jobs, people
from orchestrator.store.queries.bundles import Bundle

GZIP: Final = "application/gzip"
_PIECE: Final = MIB
_ARCHIVE: Final[dict[str, Any]] = {"content": {GZIP: {"schema": {"type": "string", "format": "binary"}}}}

router = APIRouter(prefix="/api/v1/projects/{project}/bundles", tags=["bundles"], route_class=StrictRoute)
of_attempts = APIRouter(prefix="/api/v1/ingest", tags=["ingest"])

Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$", description="the SHA-256 of the archive")]


class BundleView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    project: str
    digest: str
    size: int
    unpacked: int
    files: int
    git_commit: str | None
    dirty: bool | None
    """Whether the uploader's work tree differed from the commit."""
    added_at_ms: int
    added_by: str
    used_at_ms: int


class BundleDetail(BundleView):
    diff: str | None
    """What differed from the commit, as far as it is not too long."""


class BundleList(BaseModel):
    items: list[BundleView]
    next_cursor: str | None


class Origin(Asked):
    """What the uploader's work tree says of the files."""

    commit: Annotated[str | None, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")] = None
    dirty: bool
    diff: Annotated[str | None, Field(max_length=1_000_000, pattern=r"^[^\x00]*$")] = None


@router.get("")
async def list_bundles(
    project: str, who: User, deps: WithDeps, limit: Limit = 50, cursor: str | None = None
) -> BundleList:
    """By digest."""
    who.needs(Role.VIEWER, project)
    refuse_foreign_cursor(cursor, is_digest)
    async with deps.database.read() as tx:
        await people.project(tx, project)
        found = await bundles.bundles_of(tx, project, limit + 1, cursor)
    more = found[limit - 1].digest if len(found) > limit else None
    return BundleList(items=[BundleView.model_validate(one) for one in found[:limit]], next_cursor=more)


@router.get("/{digest}")
async def get_bundle(project: str, digest: Digest, who: User, deps: WithDeps) -> BundleDetail:
    who.needs(Role.VIEWER, project)
    async with deps.database.read() as tx:
        return BundleDetail.model_validate(await bundles.bundle(tx, project, digest))


@router.put(
    "/{digest}",
    status_code=201,
    openapi_extra={"requestBody": {"required": True, **_ARCHIVE}},
    responses={200: {"model": BundleDetail, "description": "it was there already"}},
)
async def put_bundle(
    project: str, digest: Digest, request: Request, response: Response, who: User, deps: WithDeps
) -> BundleDetail:
    """Upload the archive: a gzipped ustar of regular files. Answers 200 instead of 201 if it was there."""
    who.needs(Role.SUBMITTER, project)
    async with deps.database.read() as tx:
        await people.project(tx, project)
    name, now_ms = bundle_name(project, deps.new_id("blob")), deps.clock.now_ms()
    kept = False
    try:
        size = await _receive(deps, request, name, digest)
        files, unpacked = await asyncio.to_thread(_measure, deps, name)
        new = Bundle(
            project, digest, name, size, unpacked, files, None, None, None, now_ms, who.name, used_at_ms=now_ms
        )
        async with deps.database.write() as tx:
            is_new = await commands.add_bundle(tx, new, who.actor)
            found = await bundles.bundle(tx, project, digest)
        kept = is_new
    finally:
        if not kept:
            await asyncio.to_thread(deps.blobs.remove, name)
    response.status_code = 201 if kept else 200
    return BundleDetail.model_validate(found)


@router.put("/{digest}/origin", status_code=204)
async def put_origin(project: str, digest: Digest, body: Origin, who: User, deps: WithDeps) -> None:
    """Say which commit the files are of, and how they differ from it. What was said first stays."""
    who.needs(Role.SUBMITTER, project)
    async with deps.database.write() as tx:
        await bundles.bundle(tx, project, digest)
        await commands.describe(tx, project, digest, body.commit, body.dirty, body.diff)


@router.get("/{digest}/archive", response_class=StreamingResponse, responses={200: _ARCHIVE})
async def download_bundle(project: str, digest: Digest, who: User, deps: WithDeps) -> StreamingResponse:
    who.needs(Role.VIEWER, project)
    async with deps.database.read() as tx:
        found = await bundles.bundle(tx, project, digest)
    return _sent(deps, found)


@router.delete("/{digest}", status_code=204)
async def remove_bundle(project: str, digest: Digest, who: User, deps: WithDeps) -> None:
    """Refused while a job names it; retention removes by itself what none has named for a while."""
    who.needs(Role.ADMIN, project)
    async with deps.database.write() as tx:
        gone = await bundles.bundle(tx, project, digest)
        await commands.remove_bundle(tx, gone, deps.clock.now_ms(), who.actor)
    await asyncio.to_thread(deps.blobs.remove, gone.blob)


@of_attempts.get("/{attempt_id}/code", response_class=StreamingResponse, responses={200: _ARCHIVE})
async def download_code(attempt: OfAttempt, deps: WithDeps) -> StreamingResponse:
    """The code that the attempt's job runs."""
    async with deps.database.read() as tx:
        known = await jobs.attempt(tx, attempt)
        if known is None:
            raise NotFound(f"there is no attempt {attempt}")
        spec = (await jobs.by_id(tx, known.job_id)).spec
        if spec.program.code is None:
            raise NotFound("its program has no code")
        found = await bundles.bundle(tx, spec.project, spec.program.code)
    return _sent(deps, found)


def _sent(deps: Deps, found: Bundle) -> StreamingResponse:
    name = f"{found.digest[:12]}.tar.gz"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(found.size),
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(_whole(deps, found), media_type=GZIP, headers=headers)


async def _whole(deps: Deps, found: Bundle) -> AsyncIterator[bytes]:
    for offset in range(0, found.size, _PIECE):
        yield await asyncio.to_thread(deps.blobs.read, found.blob, offset, min(_PIECE, found.size - offset))


async def _receive(deps: Deps, request: Request, name: str, digest: str) -> int:
    """Write the body to a blob as it comes; its size."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != GZIP:
        raise HTTPException(415, f"send {GZIP}, not {kind[:80] or 'a body without a content type'}")
    seen, size, waiting = hashlib.sha256(), 0, bytearray()
    async for part in request.stream():
        seen.update(part)
        waiting += part
        if size + len(waiting) > MAX_ARCHIVE_BYTES:
            raise HTTPException(413, f"a bundle has at most {MAX_ARCHIVE_BYTES} bytes; leave out data with .gitignore")
        if len(waiting) >= _PIECE:
            await asyncio.to_thread(deps.blobs.write_at, name, size, bytes(waiting))
            size += len(waiting)
            waiting.clear()
    if waiting:
        await asyncio.to_thread(deps.blobs.write_at, name, size, bytes(waiting))
    if seen.hexdigest() != digest:
        raise InvalidInput((Fault("digest", f"the body's SHA-256 is {seen.hexdigest()}"),))
    return size + len(waiting)


def _measure(deps: Deps, name: str) -> tuple[int, int]:
    """How many files the bundle has, and how many bytes they are."""
    files, unpacked = 0, 0
    try:
        with deps.blobs.open(name) as archive:
            for file, _ in read_archive(archive):
                files, unpacked = files + 1, unpacked + file.size
    except FileNotFoundError:  # an empty body
        raise InvalidInput((Fault("", "is empty"),)) from None
    except BadBundle as error:
        raise InvalidInput((Fault("", str(error)),)) from None
    return files, unpacked
