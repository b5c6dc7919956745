"""What a monitoring system scrapes, in Prometheus' text format. For global admins: it counts what all projects have."""

from collections.abc import Mapping

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from orchestrator.api.auth import GlobalReader
from orchestrator.api.deps import WithDeps
from orchestrator.domain.lifecycle import JobState
from orchestrator.store.queries.census import Census, census

router = APIRouter(prefix="/api/v1", tags=["health"])


@router.get("/prometheus", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def scrape(_who: GlobalReader, deps: WithDeps) -> Response:
    """Jobs by state, slices by pool, clusters' silence, backlog, leadership."""
    async with deps.database.read() as tx:
        counted = await census(tx)
    return Response(generate_latest(_registry(counted, deps.clock.now_ms())), media_type=CONTENT_TYPE_LATEST)


def _registry(counted: Census, now_ms: int) -> CollectorRegistry:
    # Made anew for each scrape: the database knows the numbers, and every replica tells the same.
    registry = CollectorRegistry()
    jobs = {state.value: counted.jobs.get(state.value, 0) for state in JobState}
    _labelled(registry, "podwright_jobs", "Jobs by state.", "state", jobs)
    by_pool = Gauge("podwright_slices", "Slices by pool and state.", ("pool", "state"), registry=registry)
    for (pool, state), number in counted.slices.items():
        by_pool.labels(pool, state).set(number)
    silence = {one: max(0, now_ms - at_ms) / 1000 for one, at_ms in counted.clusters_seen_at_ms.items()}
    _labelled(registry, "podwright_cluster_silent_seconds", "Since a cluster last spoke.", "cluster", silence)
    _labelled(registry, "podwright_webhook_deliveries", "Deliveries by state.", "state", counted.deliveries)
    for name, says, value in (
        ("podwright_slices_busy", "Slices that hold a live attempt.", counted.busy_slices),
        ("podwright_facts_waiting", "Facts that no tick has taken in yet.", counted.facts),
        ("podwright_events_newest_id", "Id of the newest event.", counted.newest_event),
        ("podwright_leader_epoch", "How often the leader changed.", counted.leader_epoch),
    ):
        Gauge(name, says, registry=registry).set(value)
    return registry


def _labelled(registry: CollectorRegistry, name: str, says: str, label: str, values: Mapping[str, float]) -> None:
    gauge = Gauge(name, says, (label,), registry=registry)
    for value, number in values.items():
        gauge.labels(value).set(number)
