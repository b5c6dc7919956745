"""Jobs: submit, list, look at, cancel. JOB is an id, or a name: then its newest job."""

from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request, Response

from orchestrator.api.auth import Admin
from orchestrator.api.bodies import MIB, read_json_body
from orchestrator.api.deps import Deps, WithDeps
from orchestrator.api.specs import read_spec, refuse_unknown_shapes
from orchestrator.api.views import AttemptList, AttemptView, JobList, JobSummary, JobView
from orchestrator.domain.errors import Fault, InvalidInput
from orchestrator.domain.ids import JobId
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.spec import JobSpec
from orchestrator.store.commands import jobs as commands
from orchestrator.store.commands.jobs import IdempotencyKey
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import fleet, jobs
from orchestrator.store.queries.jobs import JobFilter

MAX_SPEC_BYTES: Final = 2 * MIB

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])

Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.post("", status_code=201)
async def submit(request: Request, response: Response, who: Admin, deps: WithDeps, key: Key = None) -> JobView:
    spec = read_spec(await read_json_body(request, MAX_SPEC_BYTES))
    view, is_new = await _submit(deps, spec, None if key is None else IdempotencyKey(who.token_hash, key))
    response.status_code = 201 if is_new else 200
    return view


@router.get("")
async def list_jobs(
    _who: Admin,
    deps: WithDeps,
    state: JobState | None = None,
    name: str | None = None,
    project: str | None = None,
    limit: Limit = 50,
    cursor: str | None = None,
) -> JobList:
    async with deps.database.read() as tx:
        page = await jobs.page(tx, JobFilter(state, name, project), limit, _place(cursor))
    next_cursor = None if page.next_before is None else str(page.next_before)
    return JobList(items=[JobSummary.of(job) for job in page.jobs], next_cursor=next_cursor)


@router.get("/{job}")
async def get_job(job: str, _who: Admin, deps: WithDeps) -> JobView:
    async with deps.database.read() as tx:
        return await _view(tx, job)


@router.post("/{job}/cancel", status_code=202)
async def cancel(job: str, _who: Admin, deps: WithDeps) -> JobView:
    async with deps.database.write() as tx:
        found = await jobs.find(tx, job)
        await commands.cancel(tx, found.id, deps.clock.now_ms())
        return await _view(tx, found.id)


@router.get("/{job}/attempts")
async def list_attempts(job: str, _who: Admin, deps: WithDeps) -> AttemptList:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job)
        details = await jobs.attempt_details(tx, found.id)
    return AttemptList(items=[AttemptView.of(detail) for detail in details])


async def _submit(deps: Deps, spec: JobSpec, key: IdempotencyKey | None) -> tuple[JobView, bool]:
    async with deps.database.write() as tx:
        job_id, is_new = await commands.submit(tx, spec, JobId(deps.new_id("job")), deps.clock.now_ms(), key)
        if is_new:  # a repeat is answered whatever slices there are by now
            refuse_unknown_shapes(spec, await fleet.all_slices(tx))
        return await _view(tx, job_id), is_new


async def _view(tx: ReadTx, job: str) -> JobView:
    found = await jobs.find(tx, job)
    return JobView.of_detail(found, await jobs.newest_detail(tx, found.id))


def _place(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 18:
        raise InvalidInput((Fault("cursor", "is not one that this API gave out"),))
    return int(cursor)
