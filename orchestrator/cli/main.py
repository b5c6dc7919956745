"""`podwright`: the command tree. What a command needs is imported when it runs, so that help is quick."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import profiles, state
from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.help import GroupedHelp
from orchestrator.cli.local import commands as local
from orchestrator.cli.remote import commands as remote
from orchestrator.cli.remote import groups, login
from orchestrator.cli.remote.connection import Target

app = typer.Typer(
    name="podwright",
    help="Runs training jobs on TPU pods and keeps them running.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    cls=GroupedHelp,
    context_settings={"help_option_names": ["-h", "--help"]},
)
local.register(app)
remote.register(app)
groups.register(app)


@app.callback()
def choose_control_plane(
    ctx: typer.Context,
    state_dir: Annotated[
        Path | None,
        typer.Option(
            "--state",
            envvar=state.ENVIRONMENT_VARIABLE,
            help="State folder of a local control plane; else the nearest .podwright from here upwards.",
        ),
    ] = None,
    server: Annotated[
        str | None, typer.Option(envvar="PODWRIGHT_SERVER", help="Address of a control plane elsewhere.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            envvar="PODWRIGHT_PROFILE",
            help="A control plane that you have logged in to.",
            autocompletion=login.complete_profile,
        ),
    ] = None,
    token: Annotated[
        str | None,
        # No option on the command line: other users could read it in the process list.
        typer.Option("--token-from-environment", envvar="PODWRIGHT_TOKEN", hidden=True),
    ] = None,
) -> None:
    if profile and server:
        raise CommandFailed("give --server or --profile, not both", Exit.USAGE)
    ctx.obj = Target(state.state_dir(state_dir, Path.cwd()), server, token, profile, profiles.folder(os.environ))


def main() -> None:
    """Run the command line; end with its exit code."""
    try:
        app()
    except CommandFailed as failure:
        print(f"podwright: {failure}", file=sys.stderr)
        sys.exit(failure.code)


if __name__ == "__main__":
    main()
