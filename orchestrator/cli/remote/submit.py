"""`submit FILE` and `run -- CMD`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.output import JsonOption, print_json


def submit(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A job spec in YAML, or JSON.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Lay a value over the file's; repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Submit a job from a file."""
    from orchestrator.cli.remote.settings import apply_settings
    from orchestrator.cli.remote.spec_file import read_spec_file, with_lines
    from orchestrator.client import InvalidError

    spec = read_spec_file(file)
    data = apply_settings(spec.data, set_ or ())
    with control_plane(ctx.obj) as client:
        try:
            job = client.submit(data, folder=file.absolute().parent)
        except InvalidError as error:
            if not error.faults:
                raise
            raise CommandFailed(with_lines(spec, error.faults), Exit.USAGE) from None
        except (TypeError, ValueError) as error:  # YAML has dates and infinities, JSON has not
            raise CommandFailed(f"{file}: cannot be sent as JSON: {error}", Exit.USAGE) from None
    if as_json:
        print_json(job)
    else:
        print(f"{job['name']} ({job['id']}) is {job['state']}; see it run: podwright watch {job['id']}")


def run(
    ctx: typer.Context,
    command: Annotated[list[str], typer.Argument(metavar="-- CMD…", help="The command, started once per host.")],
    slices: Annotated[str, typer.Option(help="What it runs on, e.g. v5e:2x4.")],
    name: Annotated[str, typer.Option(help="Of the job.")] = "run",
    env: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A variable for it; repeatable.")] = None,
    code: Annotated[Path | None, typer.Option(metavar="DIR", help="A folder to run it in; .gitignore holds.")] = None,
    failures: Annotated[int, typer.Option(min=0, help="How often it is run again after a failure of its own.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Submit a command and follow its logs. Exit code: 0 if it SUCCEEDED, 1 if it FAILED or was cancelled.

    Ctrl-C stops following and leaves the job running.
    """
    from orchestrator.cli.remote.follow import LogView, follow
    from orchestrator.cli.remote.log_lines import print_lines

    spec: dict[str, Any] = {
        "name": name,
        "slices": slices,
        "program": {"command": command},
        "env_vars": _pairs(env),
        "retry": {"failures": failures},
    }
    if code is not None:
        spec["program"]["code"] = str(code)
    with control_plane(ctx.obj) as client:
        job = client.submit(spec)
        job_id = job["id"]
        try:
            if not as_json:
                typer.echo(f"{name} ({job_id}) is {job['state']}", err=True)
            print_lines(follow(client, LogView(job_id, attempt=1)), as_json)
            job = client.wait(job_id)
        except KeyboardInterrupt:
            typer.echo(f"\n{job_id} goes on; end it with: podwright cancel {job_id}", err=True)
            raise typer.Exit(Exit.INTERRUPTED) from None
    if not as_json:
        typer.echo(f"{name} ({job_id}) is {job['state']}{': ' if job['message'] else ''}{job['message']}", err=True)
    raise typer.Exit(Exit.OK if job["state"] == "SUCCEEDED" else Exit.FAILED)


def _pairs(settings: list[str] | None) -> dict[str, str]:
    pairs = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise CommandFailed(f"--env {setting}: write NAME=VALUE", Exit.USAGE)
        pairs[name] = value
    return pairs
