"""Clusters, pools, slices and hosts as they are now."""

from collections.abc import Sequence

from fastapi import APIRouter
from pydantic import BaseModel

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.api.views import RestrictionView, SliceView
from orchestrator.domain.fleet import Restriction
from orchestrator.domain.job import Slice, SliceState
from orchestrator.domain.sharing import PoolLimits, PoolWish
from orchestrator.store.queries import fleet, pools, restrictions, strikes

router = APIRouter(prefix="/api/v1", tags=["fleet"])


class SliceList(BaseModel):
    items: list[SliceView]


class ClusterView(BaseModel):
    id: str
    seen_at_ms: int
    """When its process last spoke; it does so at least every 25 s."""


class ClusterList(BaseModel):
    items: list[ClusterView]


class LimitsView(BaseModel):
    """How many slices the pool may have."""

    least: int
    most: int


class WishView(BaseModel):
    """What would help those who wait, or helps nobody; never both. Nothing acts on it by itself."""

    ask: int
    """So many slices more."""
    let_go: list[str]
    """These slices, which nobody has used for long and nobody waits for."""
    at_ms: int


class PoolView(BaseModel):
    name: str
    cluster_id: str
    shape: str
    capacity: str
    slices: int
    up: int
    busy: int
    chips: int
    """Of all its slices."""
    restriction: RestrictionView | None
    limits: LimitsView | None
    """Without them nothing is wished."""
    wish: WishView | None

    @classmethod
    def of(
        cls,
        known: Sequence[Slice],
        busy: int,
        restriction: Restriction | None,
        limited: tuple[PoolLimits, PoolWish] | None,
    ) -> "PoolView":
        first = known[0]
        return cls(
            name=first.pool,
            cluster_id=first.cluster_id,
            shape=str(first.shape),
            capacity=first.capacity,
            slices=len(known),
            up=sum(one.state is SliceState.UP for one in known),
            busy=busy,
            chips=sum(one.shape.chips for one in known),
            restriction=RestrictionView.of(restriction),
            limits=None if limited is None else LimitsView(least=limited[0].least, most=limited[0].most),
            wish=None if limited is None else _wish(limited[1]),
        )


def _wish(wish: PoolWish) -> WishView | None:
    return None if wish.at_ms is None else WishView(ask=wish.ask, let_go=list(wish.let_go), at_ms=wish.at_ms)


class PoolList(BaseModel):
    items: list[PoolView]


class HostView(BaseModel):
    slice_id: str
    host: int
    node_id: str
    address: str
    chips: int
    restriction: RestrictionView | None


class HostList(BaseModel):
    items: list[HostView]


@router.get("/slices")
async def list_slices(who: User, deps: WithDeps) -> SliceList:
    """All slices, each with the attempt that holds it if the caller may see that one."""
    async with deps.database.read() as tx:
        found, imposed = await fleet.all_slices(tx), await restrictions.all_restrictions(tx)
        holders = await fleet.holders(tx)
        seen = await fleet.holders(tx, who.projects)
        suspects = await strikes.suspects(tx, deps.clock.now_ms())
    return SliceList(
        items=[
            SliceView.of(
                one,
                seen.get(one.id),
                one.id in holders,
                _on(imposed, one),
                suspects[one.id].says if one.id in suspects else None,
            )
            for one in found
        ]
    )


@router.get("/pools")
async def list_pools(_who: User, deps: WithDeps) -> PoolList:
    """The pools, as their slices show them, with what is wished of those that have limits."""
    async with deps.database.read() as tx:
        found, imposed = await fleet.all_slices(tx), await restrictions.all_restrictions(tx)
        holders, limited = await fleet.holders(tx), await pools.by_name(tx)
    by_pool: dict[tuple[str, str, str], list[Slice]] = {}
    for one in found:
        by_pool.setdefault((one.pool, one.cluster_id, str(one.shape)), []).append(one)
    named = {one.name: one for one in imposed if one.target == "pool"}
    return PoolList(
        items=[
            PoolView.of(
                known,
                sum(one.id in holders for one in known),
                named.get(pool),
                limited.get((known[0].cluster_id, pool)),
            )
            for (pool, _, _), known in sorted(by_pool.items())
        ]
    )


@router.get("/hosts")
async def list_hosts(_who: User, deps: WithDeps) -> HostList:
    async with deps.database.read() as tx:
        found, imposed = await restrictions.all_hosts(tx), await restrictions.all_restrictions(tx)
    named = {one.name: RestrictionView.model_validate(one) for one in imposed if one.target == "host"}
    return HostList(
        items=[
            HostView(
                slice_id=one.slice_id,
                host=one.host,
                node_id=one.node_id,
                address=one.address,
                chips=one.chips,
                restriction=named.get(f"{one.slice_id}/{one.host}"),
            )
            for one in found
        ]
    )


@router.get("/clusters")
async def list_clusters(_who: User, deps: WithDeps) -> ClusterList:
    async with deps.database.read() as tx:
        found = await fleet.all_clusters(tx)
    return ClusterList(items=[ClusterView(id=one.id, seen_at_ms=one.seen_at_ms) for one in found])


def _on(imposed: Sequence[Restriction], known: Slice) -> Restriction | None:
    """What takes the slice out: said of itself, of a host of it, or of its pool."""
    return next((one for one in imposed if one.covers(known.id, known.pool)), None)
