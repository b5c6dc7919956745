"""Which control plane a command talks to, with what token, and how its refusals are told."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli import profiles
from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.profiles import Profile
from orchestrator.domain.bundles import BadBundle

if TYPE_CHECKING:  # httpx takes longer to import than the help takes to print
    from orchestrator.client import ApiError, Client


@dataclass(frozen=True, slots=True)
class Target:
    """What the command line and the environment say; the state folder or a profile fills in what they leave open.

    In this order: the named server, the named profile, a state folder that is there, the current profile.
    """

    state_dir: Path
    server: str | None = None
    token: str | None = None
    profile: str | None = None
    profiles_in: Path | None = None
    """The folder of the user's profiles; without one there are none."""

    @property
    def url(self) -> str:
        """Raises CommandFailed when nothing names a server."""
        if self.server:
            if not self.server.startswith(("http://", "https://")):
                raise CommandFailed(f"{self.server!r} is no address; write e.g. http://127.0.0.1:8470", Exit.USAGE)
            return self.server.rstrip("/")
        if chosen := self._profile():
            return chosen.url
        if url := self._local_url():
            return url
        message = f"no control plane was ever started in {self.state_dir}; start one with: podwright up"
        raise CommandFailed(f"{message}, or log in to one: podwright login URL", Exit.UNREACHABLE)

    @property
    def bearer(self) -> str:
        """Raises CommandFailed when there is none. A local or kept token goes to its own server only."""
        if self.token:
            return self.token
        if chosen := self._profile():
            return chosen.token
        if self.server and self.url != self._local_url():
            message = f"set PODWRIGHT_TOKEN to a token of {self.server}, or: podwright login {self.server}"
            raise CommandFailed(message, Exit.USAGE)
        path = self.state_dir / "admin.token"
        try:
            return path.read_text().strip()
        except OSError as error:
            raise CommandFailed(f"cannot read {path}: {error.strerror}", Exit.USAGE) from None

    def _profile(self) -> Profile | None:
        if self.profiles_in is None:
            return None
        if self.server:
            known = profiles.load(self.profiles_in).named.values()
            return next((one for one in known if one.url == self.server.rstrip("/")), None)
        if self.profile:
            return profiles.load(self.profiles_in).get(self.profile)
        if self.state_dir.is_dir():
            return None
        known_profiles = profiles.load(self.profiles_in)
        return known_profiles.get(known_profiles.current) if known_profiles.current else None

    def _local_url(self) -> str | None:
        try:
            return str(json.loads((self.state_dir / "server.json").read_text())["url"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


@contextmanager
def control_plane(target: Target) -> Iterator["Client"]:
    """A client of the target; what the server refuses ends the command with a sentence."""
    from orchestrator.client import ApiError, Client

    url = target.url
    with Client(url, target.bearer) as client:
        try:
            yield client
        except ApiError as error:
            raise refusal(error, url) from None
        except BadBundle as error:
            raise CommandFailed(f"program.code: {error}", Exit.USAGE) from None


def refusal(error: "ApiError", url: str) -> CommandFailed:
    """The server's no, in words: one line per fault."""
    from orchestrator.client import InvalidError, UnauthenticatedError, UnavailableError

    match error:
        case UnavailableError(status=None):
            return CommandFailed(f"no control plane at {url}; start one with: podwright up", Exit.UNREACHABLE)
        case UnauthenticatedError():
            return CommandFailed(f"{url} does not know this token: {error}")
        case InvalidError(faults=faults) if faults:
            lines = (f"{fault.path}: {fault.message}" if fault.path else fault.message for fault in faults)
            return CommandFailed("\n".join(lines), Exit.USAGE)
        case InvalidError():
            return CommandFailed(str(error), Exit.USAGE)
    return CommandFailed(str(error))
