"""`podwright`: the command tree. What a command needs is imported when it runs, so that help is quick."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import state
from orchestrator.cli.failures import CommandFailed
from orchestrator.cli.local import commands as local
from orchestrator.cli.remote import commands as remote
from orchestrator.cli.remote.connection import Target

app = typer.Typer(
    name="podwright",
    help="Runs training jobs on TPU pods and keeps them running.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
local.register(app)
remote.register(app)


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
    token: Annotated[
        str | None,
        # No option on the command line: other users could read it in the process list.
        typer.Option("--token-from-environment", envvar="PODWRIGHT_TOKEN", hidden=True),
    ] = None,
) -> None:
    ctx.obj = Target(state.state_dir(state_dir, Path.cwd()), server, token)


def main() -> None:
    """Run the command line; end with its exit code."""
    try:
        app()
    except CommandFailed as failure:
        print(f"podwright: {failure}", file=sys.stderr)
        sys.exit(failure.code)


if __name__ == "__main__":
    main()
