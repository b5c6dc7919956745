"""The application: one router per resource, and every error a problem."""

from fastapi import FastAPI

from orchestrator.api import (
    arrays,
    artifacts,
    bulk,
    bundles,
    checkpoints,
    continuing,
    dashboard,
    events,
    fleet,
    glances,
    health,
    ingest,
    jobs,
    ledger,
    link,
    logs,
    maintenance,
    metrics,
    occupancy,
    openapi,
    pools,
    problems,
    projects,
    prometheus,
    restrictions,
    secrets,
    tokens,
    usage,
    users,
    verbs,
    webhooks,
    why,
)
from orchestrator.api.deps import Deps

_ROUTERS = (
    # First those that are asked all the time: routers are tried in this order.
    ingest.router,
    link.router,
    bulk.router,
    glances.router,
    jobs.router,
    verbs.router,
    arrays.router,
    events.router,
    metrics.router,
    checkpoints.router,
    artifacts.router,
    continuing.router,
    logs.router,
    ledger.router,
    why.router,
    fleet.router,
    occupancy.router,
    restrictions.router,
    maintenance.router,
    pools.router,
    projects.router,
    secrets.router,
    bundles.router,
    users.router,
    usage.router,
    webhooks.router,
    webhooks.of_jobs,
    tokens.router,
    bundles.of_attempts,
    health.router,
    prometheus.router,
)


def create_app(deps: Deps) -> FastAPI:
    # The interactive pages would load scripts from elsewhere; the schema is enough for tools.
    app = FastAPI(title="Podwright", openapi_url="/api/v1/openapi.json", docs_url=None, redoc_url=None)
    app.state.deps = deps
    problems.install(app)
    add_routes(app)
    openapi.install(app)
    dashboard.install(app)
    return app


def add_routes(app: FastAPI) -> None:
    for router in _ROUTERS:
        app.include_router(router)
