"""Arrays: one spec with a grid or a list of parameters; at most so many of its jobs are let into the queue at once."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.api.parameters import Key, idempotency
from orchestrator.api.specs import spec_of
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.api.submission import submit
from orchestrator.domain.arrays import MOST, ArrayError, parameter_sets, with_parameters
from orchestrator.domain.errors import Fault, InvalidInput
from orchestrator.domain.ids import ArrayId
from orchestrator.domain.job import ArrayPlace, Job
from orchestrator.domain.spec import JobSpec
from orchestrator.store.commands.jobs import Descent
from orchestrator.store.queries import jobs

router = APIRouter(prefix="/api/v1/arrays", tags=["arrays"], route_class=StrictRoute)


class NewArray(Asked):
    spec: dict[str, Any]
    grid: dict[str, list[Any]] | None = None
    """Paths into the spec (`program.config.optimizer.lr`), each with its values; every combination is a job."""
    sets: Annotated[list[dict[str, Any]] | None, Field(max_length=MOST)] = None
    """Or the combinations one by one."""
    at_once: Annotated[int, Field(strict=True, ge=1, le=MOST)] | None = None
    """How many jobs may be queued or running at once; without it all."""


class ArrayView(BaseModel):
    id: str
    project: str
    at_once: int | None
    jobs: list[str]
    """By index."""
    states: dict[str, int]
    """How many of its jobs are in each state."""


@router.post("", status_code=201)
async def submit_array(body: NewArray, who: User, deps: WithDeps, key: Key = None) -> ArrayView:
    """All jobs, or none: one fault refuses the array."""
    specs = _specs(body)
    array_id = ArrayId(deps.new_id("arr"))
    async with deps.database.write() as tx:
        for index, spec in enumerate(specs):
            descent = Descent(array=ArrayPlace(array_id, index, body.at_once))
            job_id, is_new = await submit(tx, deps, who, spec, idempotency(who.token_id, key, index), descent)
            if not is_new:  # the whole array is a repeat
                earlier = (await jobs.by_id(tx, job_id)).array
                array_id = earlier.id if earlier else array_id
                break
        return _view(array_id, await jobs.array(tx, array_id))


@router.get("/{array}")
async def get_array(array: str, who: User, deps: WithDeps) -> ArrayView:
    async with deps.database.read() as tx:
        return _view(array, await jobs.array(tx, ArrayId(array), who.projects))


def _view(array_id: str, members: Sequence[Job]) -> ArrayView:
    place = members[0].array
    return ArrayView(
        id=array_id,
        project=members[0].spec.project,
        at_once=place.limit if place else None,
        jobs=[job.id for job in members],
        states=dict(Counter(job.state.value for job in members)),
    )


def _specs(body: NewArray) -> list[JobSpec]:
    try:
        sets = parameter_sets(body.grid, body.sets)
        plain = [with_parameters(body.spec, one) for one in sets]
    except ArrayError as error:
        raise InvalidInput((Fault(error.path, str(error)),)) from None
    return [spec_of(one, f"jobs[{n}]") for n, one in enumerate(plain)]
