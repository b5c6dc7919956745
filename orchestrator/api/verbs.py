"""What is asked of a job: cancel, hold, release, another priority (intent, so 202); and a new job like it.

Each takes `If-Match`, and then changes nothing if the job was changed since the caller saw it.
"""

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Response

from orchestrator.api.auth import User
from orchestrator.api.deps import Deps, WithDeps
from orchestrator.api.jobs import view_of
from orchestrator.api.parameters import Key, SeenVersion, idempotency, tag
from orchestrator.api.specs import changed_spec, checked_priority
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.api.submission import submit
from orchestrator.api.views import JobView
from orchestrator.domain.access import Caller, Role
from orchestrator.domain.errors import Conflict
from orchestrator.domain.gates import NO_DEPENDENCIES
from orchestrator.domain.job import Job
from orchestrator.domain.lifecycle import TERMINAL
from orchestrator.domain.spec import JobSpec
from orchestrator.store.commands import jobs as commands
from orchestrator.store.commands.jobs import Descent
from orchestrator.store.database import WriteTx
from orchestrator.store.queries import jobs

router = APIRouter(prefix="/api/v1/jobs/{job}", tags=["jobs"], route_class=StrictRoute)


class Priority(Asked):
    priority: str
    """`normal/10`, as in a spec."""


class Clone(Asked):
    changes: dict[str, Any] = {}
    """Fields of the spec that shall be different, whole ones."""


@router.post("/cancel", status_code=202)
async def cancel(job: str, who: User, deps: WithDeps, response: Response, seen: SeenVersion = None) -> JobView:
    """Ask for the job's end. Its state follows."""
    async with deps.database.write() as tx:
        found = await mine(tx, who, job, seen)
        await commands.cancel(tx, found.id, deps.clock.now_ms(), who.actor)
        return await _answer(tx, found, response)


@router.post("/hold", status_code=202)
async def hold(job: str, who: User, deps: WithDeps, response: Response, seen: SeenVersion = None) -> JobView:
    """Keep the job from running; a live attempt is stopped, and goes on from its last checkpoint after a release."""
    async with deps.database.write() as tx:
        found = await mine(tx, who, job, seen)
        await commands.hold(tx, found.id, deps.clock.now_ms(), who.actor)
        return await _answer(tx, found, response)


@router.post("/release", status_code=202)
async def release(job: str, who: User, deps: WithDeps, response: Response, seen: SeenVersion = None) -> JobView:
    async with deps.database.write() as tx:
        found = await mine(tx, who, job, seen)
        await commands.release(tx, found.id, deps.clock.now_ms(), who.actor)
        return await _answer(tx, found, response)


@router.post("/priority", status_code=202)
async def change_priority(
    job: str, body: Priority, who: User, deps: WithDeps, response: Response, seen: SeenVersion = None
) -> JobView:
    """Another band or place within it. What runs keeps the priority with which it started."""
    priority = checked_priority(body.priority)
    async with deps.database.write() as tx:
        found = await mine(tx, who, job, seen)
        await commands.change_priority(tx, found.id, priority, deps.clock.now_ms(), who.actor)
        return await _answer(tx, found, response)


@router.post("/clone", status_code=201)
async def clone(
    job: str, who: User, deps: WithDeps, response: Response, body: Clone | None = None, key: Key = None
) -> JobView:
    """A new job with the same spec, values that views mask included, but for the changes."""
    async with deps.database.write() as tx:
        found = await jobs.find(tx, job, who.projects)
        spec = changed_spec(found.spec, body.changes if body else {})
        return await _submit(tx, deps, who, spec, found, key, response)


@router.post("/retry", status_code=201)
async def retry(job: str, who: User, deps: WithDeps, response: Response, key: Key = None) -> JobView:
    """A new job like this one, which has ended; it waits for no other job. The two are linked by `origin`."""
    async with deps.database.write() as tx:
        found = await mine(tx, who, job, None)
        if found.state not in TERMINAL:
            raise Conflict(f"job {found.id} is {found.state}; only a job that has ended is retried")
        spec = replace(changed_spec(found.spec, {}), after=NO_DEPENDENCIES)
        return await _submit(tx, deps, who, spec, found, key, response)


async def mine(tx: WriteTx, who: Caller, job: str, seen: int | None) -> Job:
    """The job, if the caller may change it and sees it as it is."""
    found = await jobs.find(tx, job, who.projects)
    who.needs(Role.SUBMITTER, found.spec.project)
    commands.expect(found, seen)
    return found


async def _submit(
    tx: WriteTx, deps: Deps, who: Caller, spec: JobSpec, origin: Job, key: str | None, response: Response
) -> JobView:
    descent = Descent(origin.id)
    job_id, is_new = await submit(tx, deps, who, spec, idempotency(who.token_id, key), descent)
    response.status_code = 201 if is_new else 200
    return await view_of(tx, job_id)


async def _answer(tx: WriteTx, job: Job, response: Response) -> JobView:
    view = await view_of(tx, job.id)
    tag(response, view.version)
    return view
