"""Many jobs at once: submit a list, or ask the same of all that a filter finds."""

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.api.parameters import Key, idempotency
from orchestrator.api.specs import checked_priority, spec_of
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.api.submission import submit
from orchestrator.api.views import JobList, JobSummary
from orchestrator.domain.access import Actor, Role
from orchestrator.domain.errors import Conflict, Fault, Forbidden, InvalidInput
from orchestrator.domain.job import Job
from orchestrator.domain.lifecycle import JobState
from orchestrator.store.commands import jobs as commands
from orchestrator.store.database import WriteTx
from orchestrator.store.queries import jobs
from orchestrator.store.queries.jobs import JobFilter

MOST: Final = 1_000

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"], route_class=StrictRoute)


class Submissions(Asked):
    jobs: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST)]
    """Specs."""


class Which(Asked):
    """Jobs that are meant; at least one field has to be given."""

    state: JobState | None = None
    name: str | None = None
    project: str | None = None
    owner: str | None = None
    array: str | None = None
    ids: Annotated[list[str] | None, Field(min_length=1, max_length=2 * MOST)] = None
    all: Literal[True] | None = None
    """Of the caller's projects."""


class Ask(Asked):
    verb: Literal["cancel", "hold", "release", "priority"]
    which: Which
    priority: str | None = None
    dry_run: bool = False
    """Only say which jobs would be asked."""


class Refusal(BaseModel):
    id: str
    why: str


class Asking(BaseModel):
    dry_run: bool
    asked: list[str]
    """Ids of the jobs that were asked, or would be."""
    refused: list[Refusal]


@router.post("/bulk", status_code=201)
async def submit_many(body: Submissions, who: User, deps: WithDeps, key: Key = None) -> JobList:
    """All of them, or none: one fault refuses the list. Repeats with the same key have no further effect."""
    specs = [spec_of(one, f"jobs[{n}]") for n, one in enumerate(body.jobs)]
    async with deps.database.write() as tx:
        made = []
        for n, spec in enumerate(specs):
            job_id, _ = await submit(tx, deps, who, spec, idempotency(who.token_id, key, n))
            made.append(await jobs.by_id(tx, job_id))
    return JobList(items=[JobSummary.of(job) for job in made], next_cursor=None)


@router.post("/ask", status_code=202)
async def ask_many(body: Ask, who: User, deps: WithDeps) -> Asking:
    """The same verb for all jobs that are meant and have not ended. At most 1,000 at once; repeat for more."""
    wanted = _wanted(body.which, who.projects)
    priority = None if body.verb != "priority" else checked_priority(body.priority or "")
    asked: list[str] = []
    refused: list[Refusal] = []
    async with deps.database.write() as tx:
        for job in await jobs.open_jobs(tx, wanted, MOST):
            try:
                who.needs(Role.SUBMITTER, job.spec.project)
                if not body.dry_run:
                    await _ask(tx, job, body.verb, priority, deps.clock.now_ms(), who.actor)
                asked.append(job.id)
            except (Conflict, Forbidden) as error:
                refused.append(Refusal(id=job.id, why=str(error)))
    return Asking(dry_run=body.dry_run, asked=asked, refused=refused)


def _wanted(which: Which, seen_by: frozenset[str] | None) -> JobFilter:
    if not which.model_fields_set:
        raise InvalidInput((Fault("which", "say which jobs are meant, or all: true"),))
    ids = None if which.ids is None else tuple(which.ids)
    states = None if which.state is None else (which.state,)
    return JobFilter(states, which.name, which.project, which.owner, which.array, ids, seen_by)


async def _ask(tx: WriteTx, job: Job, verb: str, priority: str | None, now_ms: int, by: Actor) -> None:
    match verb:
        case "cancel":
            await commands.cancel(tx, job.id, now_ms, by)
        case "hold":
            await commands.hold(tx, job.id, now_ms, by)
        case "release":
            await commands.release(tx, job.id, now_ms, by)
        case "priority" if priority is not None:
            await commands.change_priority(tx, job.id, priority, now_ms, by)
