"""The application: one router per resource, and every error a problem."""

from fastapi import FastAPI

from orchestrator.api import (
    checkpoints,
    continuing,
    events,
    fleet,
    health,
    ingest,
    jobs,
    ledger,
    link,
    logs,
    metrics,
    problems,
)
from orchestrator.api.deps import Deps

_ROUTERS = (
    jobs.router,
    events.router,
    metrics.router,
    checkpoints.router,
    continuing.router,
    logs.router,
    ledger.router,
    fleet.router,
    link.router,
    ingest.router,
    health.router,
)


def create_app(deps: Deps) -> FastAPI:
    # The interactive pages would load scripts from elsewhere; the schema is enough for tools.
    app = FastAPI(title="Podwright", openapi_url="/api/v1/openapi.json", docs_url=None, redoc_url=None)
    app.state.deps = deps
    problems.install(app)
    for router in _ROUTERS:
        app.include_router(router)
    return app
