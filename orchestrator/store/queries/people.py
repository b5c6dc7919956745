"""Users, projects and their members."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select

from orchestrator.domain.access import Role
from orchestrator.domain.errors import NotFound
from orchestrator.domain.sharing import Quota
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import members, projects, quotas, users

EVERY_POOL = "*"


@dataclass(frozen=True, slots=True)
class User:
    name: str
    admin: bool
    disabled: bool
    created_at_ms: int
    version: int


@dataclass(frozen=True, slots=True)
class ProjectRow:
    name: str
    description: str
    weight: float
    created_at_ms: int
    version: int


@dataclass(frozen=True, slots=True)
class Member:
    user: str
    role: Role


async def all_users(tx: ReadTx) -> tuple[User, ...]:
    return tuple(User(**row) for row in (await tx.ask(select(users).order_by(users.c.name))).mappings())


async def user(tx: ReadTx, name: str) -> User:
    """The user of that name.

    Raises:
        NotFound: there is none.
    """
    row = (await tx.ask(select(users).where(users.c.name == name))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"there is no user {name[:80]!r}")
    return User(**row)


async def all_projects(tx: ReadTx, seen_by: Collection[str] | None = None) -> tuple[ProjectRow, ...]:
    asked = select(projects).order_by(projects.c.name)
    if seen_by is not None:
        asked = asked.where(projects.c.name.in_(seen_by))
    return tuple(ProjectRow(**row) for row in (await tx.ask(asked)).mappings())


async def project(tx: ReadTx, name: str) -> ProjectRow:
    """The project of that name.

    Raises:
        NotFound: there is none.
    """
    row = (await tx.ask(select(projects).where(projects.c.name == name))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"there is no project {name[:80]!r}")
    return ProjectRow(**row)


async def members_of(tx: ReadTx, project_name: str) -> tuple[Member, ...]:
    asked = select(members).where(members.c.project == project_name).order_by(members.c.user_name)
    return tuple(Member(row.user_name, Role(row.role)) for row in await tx.ask(asked))


async def all_quotas(tx: ReadTx, seen_by: Collection[str] | None = None) -> tuple[Quota, ...]:
    asked = select(quotas).order_by(quotas.c.project, quotas.c.pool)
    if seen_by is not None:
        asked = asked.where(quotas.c.project.in_(seen_by))
    return tuple(
        Quota(row.project, row.guarantee_chips, row.limit_chips, None if row.pool == EVERY_POOL else row.pool)
        for row in await tx.ask(asked)
    )
