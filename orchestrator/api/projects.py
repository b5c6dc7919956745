"""Projects, their members and quotas."""

from dataclasses import replace
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from orchestrator.api.auth import GlobalAdmin, User
from orchestrator.api.deps import WithDeps
from orchestrator.api.parameters import SeenVersion, refuse_stale, tag
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.domain.access import Role
from orchestrator.domain.sharing import Quota
from orchestrator.store.commands import people as commands
from orchestrator.store.queries import people
from orchestrator.store.queries.people import EVERY_POOL, ProjectRow

router = APIRouter(prefix="/api/v1/projects", tags=["projects"], route_class=StrictRoute)

NAME: Final = r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$"
Weight = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
Chips = Annotated[int, Field(strict=True, ge=0, le=10**9)]
Pool = Annotated[str, Path(description="a pool's name, or * for all together", max_length=200)]


class NewProject(Asked):
    name: Annotated[str, Field(pattern=NAME)]
    description: Annotated[str, Field(max_length=500)] = ""
    weight: Weight = 1.0
    """Of its share: twice the weight is due twice the chip time."""


class ProjectChange(Asked):
    description: Annotated[str, Field(max_length=500)] | None = None
    weight: Weight | None = None


class ProjectView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    name: str
    description: str
    weight: float
    created_at_ms: int
    version: int


class ProjectList(BaseModel):
    items: list[ProjectView]


class MemberView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    user: str
    role: Role


class MemberList(BaseModel):
    items: list[MemberView]


class Membership(Asked):
    role: Role


class QuotaBody(Asked):
    guarantee_chips: Chips = 0
    limit_chips: Chips | None = None


class QuotaView(BaseModel):
    project: str
    pool: str
    guarantee_chips: int
    limit_chips: int | None

    @classmethod
    def of(cls, quota: Quota) -> "QuotaView":
        return cls(
            project=quota.owner,
            pool=quota.pool or EVERY_POOL,
            guarantee_chips=quota.guarantee_chips,
            limit_chips=quota.limit_chips,
        )


class QuotaList(BaseModel):
    items: list[QuotaView]


@router.get("")
async def list_projects(who: User, deps: WithDeps) -> ProjectList:
    async with deps.database.read() as tx:
        found = await people.all_projects(tx, who.projects)
    return ProjectList(items=[ProjectView.model_validate(one) for one in found])


@router.post("", status_code=201)
async def add_project(body: NewProject, who: GlobalAdmin, deps: WithDeps, response: Response) -> ProjectView:
    new = ProjectRow(body.name, body.description, body.weight, deps.clock.now_ms(), version=1)
    async with deps.database.write() as tx:
        await commands.add_project(tx, new, who.actor)
    tag(response, new.version)
    return ProjectView.model_validate(new)


@router.get("/{project}")
async def get_project(project: str, who: User, deps: WithDeps, response: Response) -> ProjectView:
    who.needs(Role.VIEWER, project)
    async with deps.database.read() as tx:
        found = await people.project(tx, project)
    tag(response, found.version)
    return ProjectView.model_validate(found)


@router.patch("/{project}")
async def change_project(
    project: str, body: ProjectChange, who: GlobalAdmin, deps: WithDeps, response: Response, seen: SeenVersion = None
) -> ProjectView:
    async with deps.database.write() as tx:
        found = await people.project(tx, project)
        refuse_stale(found.version, seen)
        changes = {name: value for name, value in body.model_dump().items() if value is not None}
        to = replace(found, version=found.version + 1, **changes)
        await commands.change_project(tx, to, deps.clock.now_ms(), who.actor)
    tag(response, to.version)
    return ProjectView.model_validate(to)


@router.delete("/{project}", status_code=204)
async def remove_project(project: str, who: GlobalAdmin, deps: WithDeps) -> None:
    """Only one to which no job was ever submitted."""
    async with deps.database.write() as tx:
        await people.project(tx, project)
        await commands.remove_project(tx, project, deps.clock.now_ms(), who.actor)


@router.get("/{project}/members")
async def list_members(project: str, who: User, deps: WithDeps) -> MemberList:
    who.needs(Role.VIEWER, project)
    async with deps.database.read() as tx:
        await people.project(tx, project)
        found = await people.members_of(tx, project)
    return MemberList(items=[MemberView.model_validate(one) for one in found])


@router.put("/{project}/members/{user}")
async def put_member(project: str, user: str, body: Membership, who: User, deps: WithDeps) -> MemberView:
    who.needs(Role.ADMIN, project)
    async with deps.database.write() as tx:
        await people.project(tx, project)
        await people.user(tx, user)
        await commands.put_member(tx, project, user, body.role, deps.clock.now_ms(), who.actor)
    return MemberView(user=user, role=body.role)


@router.delete("/{project}/members/{user}", status_code=204)
async def remove_member(project: str, user: str, who: User, deps: WithDeps) -> None:
    who.needs(Role.ADMIN, project)
    async with deps.database.write() as tx:
        await people.project(tx, project)
        await commands.remove_member(tx, project, user, deps.clock.now_ms(), who.actor)


@router.get("/{project}/quotas")
async def list_quotas(project: str, who: User, deps: WithDeps) -> QuotaList:
    who.needs(Role.VIEWER, project)
    async with deps.database.read() as tx:
        await people.project(tx, project)
        found = await people.all_quotas(tx, (project,))
    return QuotaList(items=[QuotaView.of(one) for one in found])


@router.put("/{project}/quotas/{pool}")
async def put_quota(project: str, pool: Pool, body: QuotaBody, who: GlobalAdmin, deps: WithDeps) -> QuotaView:
    """Chips that the project is sure of, and the most that it may hold."""
    quota = Quota(project, body.guarantee_chips, body.limit_chips, None if pool == EVERY_POOL else pool)
    async with deps.database.write() as tx:
        await people.project(tx, project)
        await commands.put_quota(tx, quota, deps.clock.now_ms(), who.actor)
    return QuotaView.of(quota)


@router.delete("/{project}/quotas/{pool}", status_code=204)
async def remove_quota(project: str, pool: Pool, who: GlobalAdmin, deps: WithDeps) -> None:
    async with deps.database.write() as tx:
        await people.project(tx, project)
        await commands.remove_quota(tx, project, pool, deps.clock.now_ms(), who.actor)
