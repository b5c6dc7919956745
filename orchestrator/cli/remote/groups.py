"""The nouns that are groups of commands: what a team's admins work with."""

import typer

from orchestrator.cli.remote import projects, restrictions, users

_ACCESS = "Projects and access"
_FLEET = "Fleet"


def register(app: typer.Typer) -> None:
    _group(app, "projects", "List, make and remove projects; say who may do what there.", {
        "list": projects.list_projects, "create": projects.create_project, "remove": projects.remove_project,
        "members": projects.list_members, "admit": projects.admit, "expel": projects.expel,
        "usage": projects.show_usage,
    })  # fmt: skip
    _group(app, "quotas", "A project's chips: guaranteed, and at most.", {
        "list": projects.list_quotas, "set": projects.set_quota, "remove": projects.remove_quota,
    })  # fmt: skip
    _group(app, "secrets", "A project's secrets: set, listed by name, never read back.", {
        "list": projects.list_secrets, "set": projects.set_secret, "remove": projects.remove_secret,
    })  # fmt: skip
    _group(app, "webhooks", "Where a project's events are posted, and how that went.", {
        "list": projects.list_webhooks, "add": projects.add_webhook, "remove": projects.remove_webhook,
        "deliveries": projects.list_deliveries,
    })  # fmt: skip
    _group(app, "users", "List and make users; disable and enable them.", {
        "list": users.list_users, "create": users.create_user, "disable": users.disable_user,
        "enable": users.enable_user,
    })  # fmt: skip
    _group(app, "tokens", "List, make and revoke tokens.", {
        "list": users.list_tokens, "create": users.create_token, "revoke": users.revoke_token,
    })  # fmt: skip
    app.command("hosts", rich_help_panel=_FLEET)(restrictions.list_hosts)
    app.command("clusters", rich_help_panel=_FLEET)(restrictions.list_clusters)
    for verb in restrictions.VERBS:
        app.command(verb, rich_help_panel=_FLEET)(restrictions.command(verb))


def _group(app: typer.Typer, noun: str, says: str, commands: dict[str, object]) -> None:
    group = typer.Typer(help=says, no_args_is_help=True)
    for name, command in commands.items():
        group.command(name)(command)  # type: ignore[type-var]
    app.add_typer(group, name=noun, rich_help_panel=_ACCESS)
