"""Users, for global admins; and who the caller is, for everybody."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from orchestrator.api.auth import GlobalAdmin, User
from orchestrator.api.deps import WithDeps
from orchestrator.api.parameters import SeenVersion, refuse_stale, tag
from orchestrator.api.projects import NAME
from orchestrator.api.strict import Asked, StrictRoute
from orchestrator.domain.access import Role, Scope
from orchestrator.store.commands import people as commands
from orchestrator.store.queries import people
from orchestrator.store.queries.people import User as UserRow

router = APIRouter(prefix="/api/v1", tags=["users"], route_class=StrictRoute)


class NewUser(Asked):
    name: Annotated[str, Field(pattern=NAME)]
    admin: Annotated[bool, Field(strict=True)] = False


class UserChange(Asked):
    admin: Annotated[bool, Field(strict=True)] | None = None
    disabled: Annotated[bool, Field(strict=True)] | None = None
    """A disabled user's tokens are gone for good."""


class UserView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    name: str
    admin: bool
    disabled: bool
    created_at_ms: int
    version: int


class UserList(BaseModel):
    items: list[UserView]


class Me(BaseModel):
    name: str
    admin: bool
    scope: Scope
    token_id: str
    roles: dict[str, Role]
    """By project; a global admin is admin of all."""


@router.get("/me")
async def get_me(who: User) -> Me:
    return Me(name=who.name, admin=who.admin, scope=who.scope, token_id=who.token_id, roles=dict(who.roles))


@router.get("/users")
async def list_users(_who: GlobalAdmin, deps: WithDeps) -> UserList:
    async with deps.database.read() as tx:
        found = await people.all_users(tx)
    return UserList(items=[UserView.model_validate(one) for one in found])


@router.post("/users", status_code=201)
async def add_user(body: NewUser, who: GlobalAdmin, deps: WithDeps, response: Response) -> UserView:
    new = UserRow(body.name, body.admin, disabled=False, created_at_ms=deps.clock.now_ms(), version=1)
    async with deps.database.write() as tx:
        await commands.add_user(tx, new, who.actor)
    tag(response, new.version)
    return UserView.model_validate(new)


@router.get("/users/{user}")
async def get_user(user: str, _who: GlobalAdmin, deps: WithDeps, response: Response) -> UserView:
    async with deps.database.read() as tx:
        found = await people.user(tx, user)
    tag(response, found.version)
    return UserView.model_validate(found)


@router.patch("/users/{user}")
async def change_user(
    user: str, body: UserChange, who: GlobalAdmin, deps: WithDeps, response: Response, seen: SeenVersion = None
) -> UserView:
    async with deps.database.write() as tx:
        found = await people.user(tx, user)
        refuse_stale(found.version, seen)
        changes = {name: value for name, value in body.model_dump().items() if value is not None}
        to = replace(found, version=found.version + 1, **changes)
        await commands.change_user(tx, to, deps.clock.now_ms(), who.actor)
    tag(response, to.version)
    return UserView.model_validate(to)
