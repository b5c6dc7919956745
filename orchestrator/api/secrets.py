"""Secrets of a project: written, never read back. Jobs get those that their specs name, as variables."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.domain.access import Role
from orchestrator.store.commands import secrets as commands
from orchestrator.store.queries import people, secrets

router = APIRouter(prefix="/api/v1/projects/{project}/secrets", tags=["secrets"], route_class=StrictRoute)

Name = Annotated[str, Path(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", description="also the variable's name")]


class SecretValue(Asked):
    value: Annotated[str, Field(min_length=1, max_length=65_536, pattern=r"^[^\x00]*$")]


class SecretView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    name: str
    version: int
    set_at_ms: int
    set_by: str


class SecretList(BaseModel):
    items: list[SecretView]


@router.get("")
async def list_secrets(project: str, who: User, deps: WithDeps) -> SecretList:
    """Their names, so that specs can be written."""
    who.needs(Role.SUBMITTER, project)
    async with deps.database.read() as tx:
        await people.project(tx, project)
        found = await secrets.secrets_of(tx, project)
    return SecretList(items=[SecretView.model_validate(one) for one in found])


@router.put("/{name}", status_code=204)
async def put_secret(project: str, name: Name, body: SecretValue, who: User, deps: WithDeps) -> None:
    """Attempts that start from now on get the new value."""
    who.needs(Role.ADMIN, project)
    async with deps.database.write() as tx:
        await people.project(tx, project)
        await commands.put_secret(tx, project, name, deps.seal.seal(body.value), deps.clock.now_ms(), who.actor)


@router.delete("/{name}", status_code=204)
async def remove_secret(project: str, name: Name, who: User, deps: WithDeps) -> None:
    who.needs(Role.ADMIN, project)
    async with deps.database.write() as tx:
        await people.project(tx, project)
        await commands.remove_secret(tx, project, name, deps.clock.now_ms(), who.actor)
