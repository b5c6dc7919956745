"""`users` and `tokens`."""

from typing import Annotated

import typer

from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.listing import show_list
from orchestrator.cli.remote.output import JsonOption, print_json

UserArgument = Annotated[str, typer.Argument(metavar="USER")]


def list_users(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List all users."""
    with control_plane(ctx.obj) as client:
        found = client.users.list()
    show_list(found, ("name", "admin", "disabled", "created_at_ms"), "no users", as_json)


def create_user(
    ctx: typer.Context,
    user: UserArgument,
    admin: Annotated[bool, typer.Option("--admin", help="May do everything everywhere.")] = False,
) -> None:
    """Make a user."""
    with control_plane(ctx.obj) as client:
        client.users.create(user, admin=admin)
    print(f"{user} is there; give them a token: podwright tokens create NAME --user {user}")


def disable_user(ctx: typer.Context, user: UserArgument) -> None:
    """Refuse all of a user's tokens from now on."""
    with control_plane(ctx.obj) as client:
        client.users.change(user, disabled=True)
    print(f"{user} is disabled")


def enable_user(ctx: typer.Context, user: UserArgument) -> None:
    """Take a disabled user's tokens again."""
    with control_plane(ctx.obj) as client:
        client.users.change(user, disabled=False)
    print(f"{user} is enabled")


def list_tokens(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List your tokens; a global admin sees all."""
    with control_plane(ctx.obj) as client:
        found = client.users.tokens()
    fields = ("id", "name", "user", "scope", "expires_at_ms", "last_used_at_ms")
    show_list(found, fields, "no tokens", as_json)


def create_token(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    user: Annotated[str | None, typer.Option(help="Whose it is; else yours.")] = None,
    scope: Annotated[str, typer.Option(help="read, write or admin.")] = "write",
    days: Annotated[int | None, typer.Option(min=1, help="How long it is valid; else for ever.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token. It is printed now, and never again."""
    with control_plane(ctx.obj) as client:
        lasts = None if days is None else days * 86_400
        made = client.users.make_token(name, user=user, scope=scope, expires_in_s=lasts)
    if as_json:
        print_json(made)
    else:
        print(made["token"])


def revoke_token(
    ctx: typer.Context, token: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")]
) -> None:
    """Make a token useless at once."""
    with control_plane(ctx.obj) as client:
        client.users.revoke_token(token)
    print(f"{token} is revoked")
