"""`login`, `logout`, `whoami`, `profiles`: which control planes a user works with."""

import os
import sys
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from orchestrator.cli import profiles
from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.profiles import Profile
from orchestrator.cli.remote.connection import Target, control_plane
from orchestrator.cli.remote.output import JsonOption, console, print_json

if TYPE_CHECKING:
    from pathlib import Path


def complete_profile(incomplete: str) -> list[str]:
    """Names that begin so, for the shell."""
    return [name for name in profiles.load(_folder()).named if name.startswith(incomplete)]


def login(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Of the control plane, e.g. https://podwright.lab.example.")
    ],
    profile: Annotated[str | None, typer.Option("--as", help="Name of the profile; else the host's.")] = None,
) -> None:
    """Keep a token for a control plane, and use that from now on. The token is asked for, or read from a pipe."""
    token = (typer.prompt("Token", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if not token:
        raise CommandFailed("no token was given", Exit.USAGE)
    target = Target(_folder(), url, token)
    with control_plane(target) as client:
        me = client.users.me()
    name = profile or urlsplit(target.url).hostname or "default"
    profiles.save(_folder(), profiles.load(_folder()).with_profile(name, Profile(target.url, token)))
    print(f"{name}: {_who(me)} at {target.url}")


def logout(
    profile: Annotated[
        str | None, typer.Argument(autocompletion=complete_profile, help="Else the current one.")
    ] = None,
) -> None:
    """Forget a control plane and its token. The token itself stays valid: revoke it with `tokens revoke`."""
    known = profiles.load(_folder())
    name = profile or known.current
    if name is None:
        raise CommandFailed("there is no current profile; name one", Exit.USAGE)
    profiles.save(_folder(), known.without(name))
    print(f"{name} is forgotten")


def whoami(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Show which control plane commands talk to, and as whom."""
    with control_plane(ctx.obj) as client:
        me = client.users.me()
    if as_json:
        print_json(me | {"url": ctx.obj.url})
    else:
        print(f"{_who(me)} at {ctx.obj.url}")


def list_profiles(as_json: JsonOption = False) -> None:
    """List the control planes that you have logged in to; the current one has a star."""
    known = profiles.load(_folder())
    if as_json:
        shown = known.named.items()
        print_json([{"name": name, "url": one.url, "current": name == known.current} for name, one in shown])
        return
    if not known.named:
        print("none yet; add one: podwright login URL")
        return
    from orchestrator.cli.remote.tables import columns

    table = columns("", "profile", "address")
    for name, one in sorted(known.named.items()):
        table.add_row("*" if name == known.current else "", name, one.url)
    console().print(table)


def use_profile(profile: Annotated[str, typer.Argument(autocompletion=complete_profile)]) -> None:
    """Make a profile the current one."""
    known = profiles.load(_folder())
    profiles.save(_folder(), known.with_profile(profile, known.get(profile)))
    print(f"commands now go to {known.get(profile).url}")


def _who(me: dict[str, object]) -> str:
    return f"{me['name']}{' (admin)' if me.get('admin') else ''}"


def _folder() -> "Path":
    return profiles.folder(os.environ)
