"""Control planes that a user has logged in to: one file in their configuration folder, readable by them alone."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from orchestrator.cli.failures import CommandFailed, Exit

_FILE: Final = "profiles.json"


@dataclass(frozen=True, slots=True)
class Profile:
    """One control plane and a token for it."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class Profiles:
    """All of them; `current` is used where nothing else names a control plane."""

    current: str | None = None
    named: Mapping[str, Profile] = field(default_factory=dict)

    def get(self, name: str) -> Profile:
        """Raises CommandFailed when there is none of this name."""
        if name not in self.named:
            known = ", ".join(sorted(self.named)) or "none yet"
            raise CommandFailed(f"no profile {name!r}; there are: {known}. Add one: podwright login URL", Exit.USAGE)
        return self.named[name]

    def with_profile(self, name: str, profile: Profile) -> "Profiles":
        return replace(self, current=name, named={**self.named, name: profile})

    def without(self, name: str) -> "Profiles":
        self.get(name)
        left = {other: profile for other, profile in self.named.items() if other != name}
        return Profiles(None if self.current == name else self.current, left)


def folder(environment: Mapping[str, str]) -> Path:
    """Where they are kept: `$XDG_CONFIG_HOME/podwright`, else `~/.config/podwright`."""
    base = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or "~").expanduser() / ".config"
    return Path(base) / "podwright"


def load(place: Path) -> Profiles:
    """Raises CommandFailed when the file is there but cannot be used."""
    path = place / _FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        named = {name: Profile(str(one["url"]), str(one["token"])) for name, one in data["profiles"].items()}
        return Profiles(data.get("current"), named)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        raise CommandFailed(f"cannot read {path}: {(error.strerror or str(error)).lower()}", Exit.USAGE) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CommandFailed(f"{path} is damaged; remove it and log in again", Exit.USAGE) from None


def save(place: Path, profiles: Profiles) -> None:
    """In one rename, so that two logins at once leave one or the other."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    named = {name: {"url": one.url, "token": one.token} for name, one in profiles.named.items()}
    text = json.dumps({"current": profiles.current, "profiles": named}, indent=2) + "\n"
    partial = place / f"{_FILE}.{os.getpid()}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    partial.replace(place / _FILE)
