"""`projects`, `quotas`, `secrets`, `webhooks`: what a project is and owns."""

import sys
from typing import Annotated

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.listing import show_list
from orchestrator.cli.remote.output import JsonOption, print_json

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT")]
PoolOption = Annotated[str, typer.Option(help="One pool; else all together.")]


def list_projects(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the projects that you may see."""
    with control_plane(ctx.obj) as client:
        found = client.projects.list()
    show_list(found, ("name", "description", "weight", "created_at_ms"), "no projects", as_json)


def create_project(
    ctx: typer.Context,
    project: ProjectArgument,
    description: Annotated[str, typer.Option(help="For those who read the list.")] = "",
    weight: Annotated[float, typer.Option(help="Its share of a busy fleet, against the others'.")] = 1.0,
) -> None:
    """Make a project."""
    with control_plane(ctx.obj) as client:
        client.projects.create(project, description=description, weight=weight)
    print(f"project {project} is there; let somebody in: podwright projects admit {project} USER submitter")


def remove_project(ctx: typer.Context, project: ProjectArgument) -> None:
    """Remove a project to which nothing was ever submitted."""
    with control_plane(ctx.obj) as client:
        client.projects.remove(project)
    print(f"project {project} is removed")


def list_members(ctx: typer.Context, project: ProjectArgument, as_json: JsonOption = False) -> None:
    """List who may do what in a project."""
    with control_plane(ctx.obj) as client:
        found = client.projects.members(project)
    show_list(found, ("user", "role"), f"nobody but global admins sees {project}", as_json)


def admit(
    ctx: typer.Context,
    project: ProjectArgument,
    user: Annotated[str, typer.Argument(metavar="USER")],
    role: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, submitter or admin.")],
) -> None:
    """Let a user into a project, or give them another role there."""
    with control_plane(ctx.obj) as client:
        client.projects.put_member(project, user, role)
    print(f"{user} is {role} of {project}")


def expel(ctx: typer.Context, project: ProjectArgument, user: Annotated[str, typer.Argument(metavar="USER")]) -> None:
    """Take a user out of a project."""
    with control_plane(ctx.obj) as client:
        client.projects.remove_member(project, user)
    print(f"{user} is no member of {project} any more")


def show_usage(ctx: typer.Context, project: ProjectArgument) -> None:
    """Print what a project used, as the API's JSON."""
    with control_plane(ctx.obj) as client:
        print_json(client.projects.usage(project))


def list_quotas(ctx: typer.Context, project: ProjectArgument, as_json: JsonOption = False) -> None:
    """List what a project is guaranteed and may use at most."""
    with control_plane(ctx.obj) as client:
        found = client.projects.quotas(project)
    show_list(found, ("pool", "guarantee_chips", "limit_chips"), f"{project} has no quota: it takes its share", as_json)


def set_quota(
    ctx: typer.Context,
    project: ProjectArgument,
    pool: PoolOption = "*",
    guarantee: Annotated[int, typer.Option(help="Chips that it gets back when it needs them.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Chips that it never exceeds.")] = None,
) -> None:
    """Set a project's quota in chips, in one pool or in all together."""
    with control_plane(ctx.obj) as client:
        client.projects.put_quota(project, pool, guarantee_chips=guarantee, limit_chips=limit)
    most = "no limit" if limit is None else f"at most {limit}"
    print(f"{project} in {'all pools' if pool == '*' else pool}: {guarantee} chips guaranteed, {most}")


def remove_quota(ctx: typer.Context, project: ProjectArgument, pool: PoolOption = "*") -> None:
    """Remove a project's quota."""
    with control_plane(ctx.obj) as client:
        client.projects.remove_quota(project, pool)
    print(f"{project} has no quota in {'all pools together' if pool == '*' else pool}")


def list_secrets(ctx: typer.Context, project: ProjectArgument, as_json: JsonOption = False) -> None:
    """List the names of a project's secrets; nobody reads their values back."""
    with control_plane(ctx.obj) as client:
        found = client.projects.secrets(project)
    show_list(found, ("name", "version", "set_at_ms", "set_by"), f"{project} has no secrets", as_json)


def set_secret(
    ctx: typer.Context, project: ProjectArgument, name: Annotated[str, typer.Argument(metavar="NAME")]
) -> None:
    """Set a secret; the value is asked for, or read from a pipe, and is never on a command line."""
    value = typer.prompt("Value", hide_input=True) if sys.stdin.isatty() else sys.stdin.read().removesuffix("\n")
    if not value:
        raise CommandFailed("no value was given", Exit.USAGE)
    with control_plane(ctx.obj) as client:
        client.projects.put_secret(project, name, value)
    print(f"{name} is set; a job of {project} gets it with: secrets: [{name}]")


def remove_secret(
    ctx: typer.Context, project: ProjectArgument, name: Annotated[str, typer.Argument(metavar="NAME")]
) -> None:
    """Remove a secret; jobs that name it can not start any more."""
    with control_plane(ctx.obj) as client:
        client.projects.remove_secret(project, name)
    print(f"{name} is removed")


def list_webhooks(ctx: typer.Context, project: ProjectArgument, as_json: JsonOption = False) -> None:
    """List where a project's events are posted."""
    with control_plane(ctx.obj) as client:
        found = client.webhooks.list(project)
    show_list(found, ("id", "url", "kinds", "created_at_ms"), f"{project} has no webhooks", as_json)


def add_webhook(
    ctx: typer.Context,
    project: ProjectArgument,
    url: Annotated[str, typer.Argument(metavar="URL")],
    kind: Annotated[list[str] | None, typer.Option(help="Only events of this kind; repeatable.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Have a project's events posted to an address. The key that signs them is shown now, and never again."""
    with control_plane(ctx.obj) as client:
        made = client.webhooks.add(project, url, kind or ())
    if as_json:
        print_json(made)
    else:
        print(f"{made['id']} posts to {made['url']}; its key, shown only now: {made['key']}")


def remove_webhook(
    ctx: typer.Context, project: ProjectArgument, webhook: Annotated[str, typer.Argument(metavar="ID")]
) -> None:
    """Post no more events there."""
    with control_plane(ctx.obj) as client:
        client.webhooks.remove(project, webhook)
    print(f"{webhook} is removed")


def list_deliveries(
    ctx: typer.Context,
    project: ProjectArgument,
    webhook: Annotated[str, typer.Argument(metavar="ID")],
    as_json: JsonOption = False,
) -> None:
    """Show how a webhook's events were delivered, newest first."""
    with control_plane(ctx.obj) as client:
        found = client.webhooks.deliveries(project, webhook)["items"]
    show_list(found, ("event_id", "at_ms", "state", "tries", "status", "error"), "nothing was posted yet", as_json)
