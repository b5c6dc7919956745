"""`continue`: a new job that begins at a committed step of another one, its spec changed where asked."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from orchestrator.api.auth import User
from orchestrator.api.bodies import MIB, read_wire
from orchestrator.api.deps import WithDeps
from orchestrator.api.jobs import view_of
from orchestrator.api.parameters import Key, idempotency
from orchestrator.api.specs import read_spec
from orchestrator.api.submission import submit
from orchestrator.api.views import JobView
from orchestrator.domain.access import Role
from orchestrator.domain.errors import Conflict
from orchestrator.domain.ids import JobId
from orchestrator.domain.masking import MASK
from orchestrator.store.commands.jobs import Descent
from orchestrator.store.queries import checkpoints, jobs
from orchestrator.store.queries.checkpoints import Registered
from orchestrator.store.specs import SPEC, plain_spec

_SECRET_PLACES: Final = ("env_vars",)

router = APIRouter(prefix="/api/v1/jobs/{job}/continue", tags=["jobs"])


class ContinueBody(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    step: int | None = Field(default=None, ge=0)
    """The newest committed step if it is left out."""
    attempt: int | None = Field(default=None, ge=1)
    set: dict[str, Any] = Field(default_factory=dict)
    """A part of a spec, laid over the job's."""


class Difference(BaseModel):
    """A field that differs from the job that is continued; null: it is not there."""

    path: str
    before: Any
    after: Any


class Continued(BaseModel):
    job: JobView
    continues: str
    """`<job id>/<attempt>/<step>`"""
    differences: list[Difference]


_BODY: TypeAdapter[ContinueBody] = TypeAdapter(ContinueBody)


@router.post("", status_code=201)
async def continue_job(
    job: str,
    request: Request,
    who: User,
    deps: WithDeps,
    key: Key = None,
) -> Continued:
    body = await read_wire(request, _BODY, MIB)
    async with deps.database.write() as tx:
        source = await jobs.find(tx, job, who.projects)
        who.needs(Role.SUBMITTER, str(body.set.get("project", source.spec.project)))
        saved = _choose(await checkpoints.registry(tx, source.id), source.id, body)
        before = plain_spec(source.spec)
        continues = f"{source.id}/{saved.path}"
        after = _laid_over(_laid_over(before, body.set), {"checkpoint": {"continue_from": continues}})
        spec = read_spec(json.dumps(after).encode())
        job_id, _ = await submit(tx, deps, who, spec, idempotency(who.token_id, key), Descent(source.id))
        view = await view_of(tx, job_id)
        differences = list(_differences(before, SPEC.dump_python(spec, mode="json"), ""))
        return Continued(job=view, continues=continues, differences=differences)


def _choose(steps: tuple[Registered, ...], job_id: JobId, body: ContinueBody) -> Registered:
    """The step asked for, or the newest.

    Raises:
        Conflict: it is not there any more, or the job never committed one.
    """
    fitting = [one for one in steps if body.step in (None, one.step) and body.attempt in (None, one.attempt)]
    standing = [one for one in fitting if one.state == "committed" and one.ours]
    if standing:
        return standing[0]
    if fitting:
        why = fitting[0].state if fitting[0].ours else "the work of the job's own program"
        raise Conflict(f"checkpoint {fitting[0].path} of job {job_id} is {why}")
    raise Conflict(f"job {job_id} never committed {'a step' if body.step is None else f'step {body.step}'}")


def _laid_over(below: Any, above: Any) -> Any:
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    return {**below, **{name: _laid_over(below.get(name), value) for name, value in above.items()}}


def _differences(before: Any, after: Any, path: str) -> Iterator[Difference]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted(before.keys() | after.keys()):
            yield from _differences(before.get(name), after.get(name), f"{path}.{name}".removeprefix("."))
    elif before != after and path != "checkpoint.continue_from":
        secret = path.startswith(_SECRET_PLACES)
        hidden = [MASK if secret and value is not None else value for value in (before, after)]
        yield Difference(path=path, before=hidden[0], after=hidden[1])
