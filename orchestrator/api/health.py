"""Whether the process lives, whether it can work, and what it is. Open to all."""

from importlib.metadata import version

from fastapi import APIRouter
from pydantic import BaseModel

from orchestrator import protocol
from orchestrator.api.deps import WithDeps
from orchestrator.store.queries.revision import revision

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: str


class Version(BaseModel):
    version: str
    protocol: int


@router.get("/healthz")
async def healthz() -> Health:
    return Health(status="ok")


@router.get("/readyz")
async def readyz(deps: WithDeps) -> Health:
    async with deps.database.read() as tx:
        await revision(tx)
    return Health(status="ready")


@router.get("/api/v1/version")
async def get_version() -> Version:
    return Version(version=version("podwright"), protocol=protocol.VERSION)
