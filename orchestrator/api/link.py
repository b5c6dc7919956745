"""The clusters' side: orders by long poll, facts by POST."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from orchestrator.api.auth import OfCluster, attempt_token
from orchestrator.api.bodies import MIB, read_wire
from orchestrator.api.deps import Deps, WithDeps
from orchestrator.api.orders import orders_of
from orchestrator.domain.errors import Conflict, NotFound
from orchestrator.domain.ids import ClusterId
from orchestrator.protocol import (
    ERRANDS_POST,
    FACTS_POST,
    FACTS_REPLY,
    ORDERS,
    STORAGE_POST,
    VERSION,
    WATCHED_POST,
    FactsPost,
    FactsReply,
)
from orchestrator.store import watched
from orchestrator.store.commands import errands as errand_commands
from orchestrator.store.commands import fleet as commands
from orchestrator.store.queries import fleet, jobs
from orchestrator.store.queries.fleet import Standing

LONGEST_POLL_MS: Final = 25_000
_POLL_MS: Final = 1_000
"""How soon orders that another process wrote are seen; those of our own process ring."""

router = APIRouter(prefix="/api/v1/link", tags=["link"])

Revision = Annotated[int | None, Query(ge=-1, le=2**63 - 1)]


@router.get("/orders")
async def get_orders(cluster: OfCluster, deps: WithDeps, revision: Revision = None) -> Response:
    """At once if they differ from `revision`, else when they change; 204 if they do not for a while."""
    standing = await _wait_for_change(deps, cluster, revision)
    if standing is None:
        return Response(status_code=204)
    orders = orders_of(
        standing, deps.checkpoint_root, lambda attempt: attempt_token(deps.server_key, attempt), deps.seal.unseal
    )
    return Response(ORDERS.dump_json(orders), media_type="application/json")


@router.post("/facts")
async def post_facts(cluster: OfCluster, request: Request, deps: WithDeps) -> Response:
    post = await read_wire(request, FACTS_POST, 16 * MIB)
    acknowledged = await _keep(deps, cluster, post)
    return Response(FACTS_REPLY.dump_json(FactsReply(acknowledged)), media_type="application/json")


@router.post("/errands", status_code=204)
async def post_errands(cluster: OfCluster, request: Request, deps: WithDeps) -> Response:
    post = await read_wire(request, ERRANDS_POST, 16 * MIB)
    if post.version != VERSION:
        raise Conflict(f"this server speaks version {VERSION} of the protocol, not {post.version}")
    async with deps.database.write() as tx:
        await errand_commands.take_in(tx, cluster, post.done, deps.clock.now_ms())
    return Response(status_code=204)


@router.post("/storage", status_code=204)
async def post_storage(cluster: OfCluster, request: Request, deps: WithDeps) -> Response:
    """Whether the cluster can write checkpoints. What it says of another root than ours is out of date."""
    post = await read_wire(request, STORAGE_POST, MIB)
    if post.version != VERSION:
        raise Conflict(f"this server speaks version {VERSION} of the protocol, not {post.version}")
    if post.root == deps.checkpoint_root:
        async with deps.database.write() as tx:
            await commands.note_storage(tx, cluster, post.fault, deps.clock.now_ms())
    return Response(status_code=204)


@router.post("/watched", status_code=204)
async def post_watched(cluster: OfCluster, request: Request, deps: WithDeps) -> Response:
    """Commits that a program of the user's made by itself, in the folder that its job has watched."""
    post = await read_wire(request, WATCHED_POST, 16 * MIB)
    if post.version != VERSION:
        raise Conflict(f"this server speaks version {VERSION} of the protocol, not {post.version}")
    async with deps.database.write() as tx:
        attempt = await jobs.attempt(tx, post.attempt_id)
        if attempt is None or attempt.cluster_id != cluster:
            raise NotFound(f"there is no attempt {post.attempt_id[:80]} on this cluster")
        await watched.take_in(tx, attempt, post.commits)
    return Response(status_code=204)


async def _wait_for_change(deps: Deps, cluster: ClusterId, known: int | None) -> Standing | None:
    async with deps.database.write() as tx:
        await commands.see_cluster(tx, cluster, deps.clock.now_ms())
    until = deps.clock.monotonic_ms() + LONGEST_POLL_MS
    while not deps.stopping.is_set():
        ring = deps.database.commits.next_ring()
        async with deps.database.read() as tx:
            if await fleet.order_revision(tx, cluster) != known:
                return await fleet.standing(tx, cluster)
        left = until - deps.clock.monotonic_ms()
        if left <= 0:
            return None
        await deps.clock.wait(ring, min(_POLL_MS, left))
    return None


async def _keep(deps: Deps, cluster: ClusterId, post: FactsPost) -> dict[str, int]:
    if post.version != VERSION:
        raise Conflict(f"this server speaks version {VERSION} of the protocol, not {post.version}")
    async with deps.database.write() as tx:
        await commands.see_cluster(tx, cluster, deps.clock.now_ms())
        return dict(await commands.add_facts(tx, cluster, await deps.masks.facts(tx, post.facts)))
