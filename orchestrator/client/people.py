"""Projects with what they own, users, and tokens."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from orchestrator.client.connection import Connection

Answer = dict[str, Any]
Items = list[Answer]
_API = "/api/v1"


class Projects:
    """Projects, their members, quotas and secrets. Every method raises `ApiError` or one of its kinds."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> Items:
        """Those that the caller may see."""
        return list(self._connection.get(_path())["items"])

    def get(self, project: str) -> Answer:
        return dict(self._connection.get(_path(project)))

    def create(self, project: str, *, description: str = "", weight: float = 1.0) -> Answer:
        return dict(self._connection.post(_path(), {"name": project, "description": description, "weight": weight}))

    def change(
        self, project: str, *, description: str | None = None, weight: float | None = None, version: int | None = None
    ) -> Answer:
        """Change what is given; with `version`, only if nobody has changed it since."""
        return dict(
            self._connection.patch(_path(project), {"description": description, "weight": weight}, if_version(version))
        )

    def remove(self, project: str) -> None:
        """Refused if jobs were ever submitted to it, or if it still owns something."""
        self._connection.delete(_path(project))

    def usage(self, project: str, *, since_ms: int | None = None, until_ms: int | None = None) -> Answer:
        return dict(self._connection.get(_path(project, "usage"), {"since_ms": since_ms, "until_ms": until_ms}))

    def members(self, project: str) -> Items:
        return list(self._connection.get(_path(project, "members"))["items"])

    def put_member(self, project: str, user: str, role: str) -> Answer:
        """`role` is viewer, submitter or admin."""
        return dict(self._connection.put(_path(project, "members", user), {"role": role}))

    def remove_member(self, project: str, user: str) -> None:
        self._connection.delete(_path(project, "members", user))

    def quotas(self, project: str) -> Items:
        return list(self._connection.get(_path(project, "quotas"))["items"])

    def put_quota(
        self, project: str, pool: str = "*", *, guarantee_chips: int = 0, limit_chips: int | None = None
    ) -> Answer:
        """In one pool, or in all together: `*`."""
        body = {"guarantee_chips": guarantee_chips, "limit_chips": limit_chips}
        return dict(self._connection.put(_path(project, "quotas", pool), body))

    def remove_quota(self, project: str, pool: str = "*") -> None:
        self._connection.delete(_path(project, "quotas", pool))

    def secrets(self, project: str) -> Items:
        """Their names and versions; values are never read back."""
        return list(self._connection.get(_path(project, "secrets"))["items"])

    def put_secret(self, project: str, name: str, value: str) -> None:
        self._connection.put(_path(project, "secrets", name), {"value": value})

    def remove_secret(self, project: str, name: str) -> None:
        self._connection.delete(_path(project, "secrets", name))


class Webhooks:
    """A project's webhooks."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, project: str) -> Items:
        return list(self._connection.get(_path(project, "webhooks"))["items"])

    def add(self, project: str, url: str, kinds: Sequence[str] = ()) -> Answer:
        """Have events of these kinds, or all, posted there. The answer holds the key that signs them: only now."""
        return dict(self._connection.post(_path(project, "webhooks"), {"url": url, "kinds": list(kinds)}))

    def remove(self, project: str, webhook: str) -> None:
        self._connection.delete(_path(project, "webhooks", webhook))

    def deliveries(self, project: str, webhook: str, *, limit: int = 50, cursor: str | None = None) -> Answer:
        """How its events were delivered, newest first: `items` and `next_cursor`."""
        asked = {"limit": limit, "cursor": cursor}
        return dict(self._connection.get(_path(project, "webhooks", webhook, "deliveries"), asked))

    def notifications(self, job: str, *, limit: int = 50, cursor: str | None = None) -> Answer:
        """The same of those that the job's spec names."""
        address = f"{_API}/jobs/{quote(job, safe='')}/notifications"
        return dict(self._connection.get(address, {"limit": limit, "cursor": cursor}))


class Users:
    """Users and tokens."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def me(self) -> Answer:
        """Who the caller is, and what they may do where."""
        return dict(self._connection.get(f"{_API}/me"))

    def list(self) -> Items:
        return list(self._connection.get(f"{_API}/users")["items"])

    def get(self, user: str) -> Answer:
        return dict(self._connection.get(f"{_API}/users/{quote(user, safe='')}"))

    def create(self, user: str, *, admin: bool = False) -> Answer:
        return dict(self._connection.post(f"{_API}/users", {"name": user, "admin": admin}))

    def change(
        self, user: str, *, admin: bool | None = None, disabled: bool | None = None, version: int | None = None
    ) -> Answer:
        """Change what is given; with `version`, only if nobody has changed it since."""
        body = {"admin": admin, "disabled": disabled}
        return dict(self._connection.patch(f"{_API}/users/{quote(user, safe='')}", body, if_version(version)))

    def tokens(self) -> Items:
        """The caller's own; a global admin sees all."""
        return list(self._connection.get(f"{_API}/tokens")["items"])

    def make_token(
        self,
        name: str,
        *,
        user: str | None = None,
        scope: str = "write",
        expires_in_s: int | None = None,
        kind: str = "user",
    ) -> Answer:
        """The answer holds the token itself: only now."""
        body = {"name": name, "user": user, "scope": scope, "expires_in_s": expires_in_s, "kind": kind}
        return dict(self._connection.post(f"{_API}/tokens", body))

    def revoke_token(self, token_id: str) -> None:
        self._connection.delete(f"{_API}/tokens/{quote(token_id, safe='')}")


def if_version(version: int | None) -> Mapping[str, str]:
    """The header that refuses a change of what somebody else has changed since."""
    return {} if version is None else {"If-Match": f'"{version}"'}


def _path(project: str | None = None, *parts: str) -> str:
    given = () if project is None else (project, *parts)
    return "/".join((f"{_API}/projects", *(quote(part, safe="") for part in given)))
