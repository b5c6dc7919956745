"""`watch JOB`: a job live, until it has ended."""

from typing import Annotated

import typer

from orchestrator.cli.failures import Exit
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.jobs import JobArgument
from orchestrator.cli.remote.output import console, print_json


def watch(
    ctx: typer.Context,
    job: JobArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the job as JSON once it has ended.")] = False,
) -> None:
    """Watch a job live: state, step, loss, tokens/s. Exit code: 0 if it SUCCEEDED, else 1. Ctrl-C leaves it running."""
    from orchestrator.cli.remote.live import show_until_ended

    with control_plane(ctx.obj) as client:
        job_id = client.job(job)["id"]
        try:
            found = client.wait(job_id) if as_json else show_until_ended(client, job_id, console())
        except KeyboardInterrupt:
            raise typer.Exit(Exit.INTERRUPTED) from None
    if as_json:
        print_json(found)
    raise typer.Exit(Exit.OK if found["state"] == "SUCCEEDED" else Exit.FAILED)
