"""Clusters and slices as they are now."""

from fastapi import APIRouter
from pydantic import BaseModel

from orchestrator.api.auth import Admin
from orchestrator.api.deps import WithDeps
from orchestrator.api.views import SliceView
from orchestrator.store.queries import fleet

router = APIRouter(prefix="/api/v1", tags=["fleet"])


class SliceList(BaseModel):
    items: list[SliceView]


class ClusterView(BaseModel):
    id: str
    seen_at_ms: int
    """When its process last spoke; it does so at least every 25 s."""


class ClusterList(BaseModel):
    items: list[ClusterView]


@router.get("/slices")
async def list_slices(_who: Admin, deps: WithDeps) -> SliceList:
    async with deps.database.read() as tx:
        found, holders = await fleet.all_slices(tx), await fleet.holders(tx)
    return SliceList(items=[SliceView.of(known, holders.get(known.id)) for known in found])


@router.get("/clusters")
async def list_clusters(_who: Admin, deps: WithDeps) -> ClusterList:
    async with deps.database.read() as tx:
        found = await fleet.all_clusters(tx)
    return ClusterList(items=[ClusterView(id=one.id, seen_at_ms=one.seen_at_ms) for one in found])
