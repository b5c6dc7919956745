"""Who may do what. A caller has a role in each project of theirs; a token can say less than its user, never more."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from orchestrator.domain.errors import Forbidden, NotFound


class Role(StrEnum):
    """What a member of a project may do; each may do all that those before it may."""

    VIEWER = "viewer"
    """See everything but secrets."""
    SUBMITTER = "submitter"
    """Submit jobs and change them."""
    ADMIN = "admin"
    """Also members, secrets, webhooks."""

    def covers(self, other: "Role") -> bool:
        return _RANK[self] >= _RANK[other]


_RANK: Final[Mapping[Role, int]] = MappingProxyType({role: rank for rank, role in enumerate(Role)})


class Scope(StrEnum):
    """What a token is for; each may do all that those before it may, within its user's roles."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def covers(self, other: "Scope") -> bool:
        return self.most.covers(other.most)

    @property
    def most(self) -> Role:
        """The highest role that a token of this scope has."""
        return {Scope.READ: Role.VIEWER, Scope.WRITE: Role.SUBMITTER, Scope.ADMIN: Role.ADMIN}[self]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asked for a change, and from where; kept with the event of it."""

    name: str
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """A user, or the holder of a global admin's token, as far as the token reaches."""

    name: str
    token_id: str
    admin: bool
    """Of everything: all projects, users, the fleet."""
    scope: Scope
    roles: Mapping[str, Role] = field(default_factory=dict)
    """By project, of its members."""
    address: str | None = None

    @property
    def actor(self) -> Actor:
        return Actor(self.name, self.address)

    @property
    def projects(self) -> frozenset[str] | None:
        """Those that the caller may see; None is all."""
        return None if self.admin else frozenset(self.roles)

    def role_in(self, project: str) -> Role | None:
        """What the caller is in a project; None: there is nothing to see."""
        role = Role.ADMIN if self.admin else self.roles.get(project)
        if role is None:
            return None
        return role if self.scope.most.covers(role) else self.scope.most

    def needs(self, role: Role, project: str) -> None:
        """Make sure that the caller has at least `role` in the project.

        Raises:
            NotFound: the caller is no member; whether there is such a project is not theirs to know.
            Forbidden: the caller is a member, or the token was made, for less.
        """
        has = self.role_in(project)
        if has is None:
            raise NotFound(f"there is no project {project[:80]!r}")
        if not has.covers(role):
            raise Forbidden(f"this needs the role {role} in project {project}; this token has {has}")

    def needs_global_admin(self) -> None:
        """Make sure that the caller may change what belongs to no project.

        Raises:
            Forbidden: the caller is no global admin, or the token was made for less.
        """
        if not self.admin or self.scope is not Scope.ADMIN:
            raise Forbidden("this needs a global admin, with a token of scope admin")
