"""`logs JOB`: what the ranks wrote."""

from typing import Annotated

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.jobs import JobArgument


def logs(
    ctx: typer.Context,
    job: JobArgument,
    follow_: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on, over all attempts, until the job ends.")
    ] = False,
    rank: Annotated[int | None, typer.Option(min=0, help="Only this rank.")] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="This attempt; with -f from this one on.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Show what all ranks of a job wrote, each line behind its rank. Bytes that would move the cursor are escaped."""
    from orchestrator.cli.remote.follow import LogView, follow, read
    from orchestrator.cli.remote.log_lines import print_lines

    with control_plane(ctx.obj) as client:
        found = client.job(job)
        if attempt is not None and not follow_ and attempt > found["attempts"]:
            raise CommandFailed(
                f"{found['name']} has {found['attempts']} attempts, none numbered {attempt}", Exit.USAGE
            )
        view = LogView(found["id"], attempt, rank)
        try:
            print_lines(follow(client, view) if follow_ else read(client, view), as_json)
        except KeyboardInterrupt:
            raise typer.Exit(Exit.INTERRUPTED) from None
