"""Jobs: submit, list, look at. JOB is an id, or a name: then its newest job."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response

from orchestrator.api.auth import User
from orchestrator.api.bodies import MIB, read_json_body
from orchestrator.api.deps import WithDeps
from orchestrator.api.parameters import Key, Limit, idempotency, place, tag
from orchestrator.api.specs import SPEC_BODY, read_spec
from orchestrator.api.submission import submit as submit_job
from orchestrator.api.views import AttemptList, AttemptView, JobList, JobSummary, JobView
from orchestrator.domain.ids import JobId
from orchestrator.domain.lifecycle import JobState
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import jobs
from orchestrator.store.queries.jobs import JobFilter

MAX_SPEC_BYTES: Final = 2 * MIB

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])

JobOrder = Literal["newest", "oldest"]
States = Annotated[list[JobState] | None, Query(max_length=20, description="any of them")]
Search = Annotated[
    str | None, Query(min_length=1, max_length=200, description="a part of the id, name, project or owner")
]
Ids = Annotated[list[str] | None, Query(max_length=200)]


@router.post("", status_code=201, openapi_extra=SPEC_BODY)
async def submit(request: Request, response: Response, who: User, deps: WithDeps, key: Key = None) -> JobView:
    """Queue a job. Answers 200 instead of 201 when the same key and spec were sent before."""
    spec = read_spec(await read_json_body(request, MAX_SPEC_BYTES))
    async with deps.database.write() as tx:
        job_id, is_new = await submit_job(tx, deps, who, spec, idempotency(who.token_id, key))
        view = await view_of(tx, job_id)
    response.status_code = 201 if is_new else 200
    tag(response, view.version)
    return view


@router.get("")
async def list_jobs(
    who: User,
    deps: WithDeps,
    state: States = None,
    name: str | None = None,
    project: str | None = None,
    owner: str | None = None,
    array: str | None = None,
    id: Ids = None,
    search: Search = None,
    order: Annotated[JobOrder, Query(description="by the time of submission")] = "newest",
    limit: Limit = 50,
    cursor: str | None = None,
) -> JobList:
    """A page of the jobs that the caller may see. Cursors stay exact while jobs are added."""
    wanted = JobFilter(state, name, project, owner, array, None if id is None else tuple(id), who.projects, search)
    async with deps.database.read() as tx:
        page = await jobs.page(tx, wanted, limit, place(cursor), oldest_first=order == "oldest")
    return JobList(items=[JobSummary.of(job) for job in page.jobs], next_cursor=_cursor(page.next_after))


@router.get("/{job}")
async def get_job(job: str, who: User, deps: WithDeps, response: Response) -> JobView:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        view = await view_of(tx, found.id)
    tag(response, view.version)
    return view


@router.get("/{job}/attempts")
async def list_attempts(job: str, who: User, deps: WithDeps) -> AttemptList:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        details = await jobs.attempt_details(tx, found.id)
    return AttemptList(items=[AttemptView.of(detail) for detail in details])


def _cursor(after: int | None) -> str | None:
    return None if after is None else str(after)


async def view_of(tx: ReadTx, job_id: JobId) -> JobView:
    found = await jobs.by_id(tx, job_id)
    return JobView.of_detail(found, await jobs.newest_detail(tx, found.id) if found.attempts else None)
