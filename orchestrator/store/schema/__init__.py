"""The tables. Constraints restate the invariants: what the code must never do, the database refuses."""

from orchestrator.store.schema.base import metadata
from orchestrator.store.schema.effects import deliveries, hosts, restrictions, webhooks
from orchestrator.store.schema.files import artifacts, bundles
from orchestrator.store.schema.people import members, projects, quotas, secrets, tokens, users
from orchestrator.store.schema.queue import outlooks
from orchestrator.store.schema.work import (
    attempts,
    checkpoints,
    clusters,
    errands,
    events,
    fact_sources,
    facts,
    idempotency,
    jobs,
    leases,
    meta,
    phases,
    placements,
    points,
    progress,
    ranks,
    restores,
    slices,
    streams,
)

__all__ = [
    "artifacts",
    "attempts",
    "bundles",
    "checkpoints",
    "clusters",
    "deliveries",
    "errands",
    "events",
    "fact_sources",
    "facts",
    "hosts",
    "idempotency",
    "jobs",
    "leases",
    "members",
    "meta",
    "metadata",
    "outlooks",
    "phases",
    "placements",
    "points",
    "progress",
    "projects",
    "quotas",
    "ranks",
    "restores",
    "restrictions",
    "secrets",
    "slices",
    "streams",
    "tokens",
    "users",
    "webhooks",
]
