"""`jobs list`, `jobs show`, `cancel`, `events`."""

from typing import Annotated

import typer

from orchestrator.cli.remote.completion import complete_job
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.output import JsonOption, console, print_json
from orchestrator.domain.lifecycle import JobState

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="An id, or a name: then its newest job.", autocompletion=complete_job)
]


def list_jobs(
    ctx: typer.Context,
    state: Annotated[JobState | None, typer.Option(help="Only jobs in this state.", case_sensitive=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="At most so many, newest first.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List jobs, newest first."""
    with control_plane(ctx.obj) as client:
        page = client.jobs(state=state, limit=limit)
    if as_json:
        print_json(page)
        return
    from orchestrator.cli.remote.tables import jobs_table

    console().print(jobs_table(page["items"], _now_ms()) if page["items"] else "no jobs")
    if page["next_cursor"]:
        console().print(f"there are more; see them with --limit (now {limit})", style="dim")


def show_job(ctx: typer.Context, job: JobArgument, as_json: JsonOption = False) -> None:
    """Show one job: state, slices, attempts with cause and time to detect, progress, checkpoints, and why it waits."""
    with control_plane(ctx.obj) as client:
        found = client.job(job)
        job_id = found["id"]  # a name could mean another job by the time it is asked again
        attempts, checkpoints = client.attempts(job_id), client.checkpoints(job_id)
        ledger = client.ledger(job_id)
    if as_json:
        print_json(found | {"attempts_detail": attempts, "checkpoints": checkpoints, "ledger": ledger})
        return
    from orchestrator.cli.remote.job_page import JobPage

    console().print(JobPage(found, attempts, checkpoints, ledger).render(_now_ms()))


def cancel_job(ctx: typer.Context, job: JobArgument, as_json: JsonOption = False) -> None:
    """Ask a job to end; its program gets SIGTERM and the spec's grace."""
    with control_plane(ctx.obj) as client:
        found = client.cancel(job)
    if as_json:
        print_json(found)
    elif found["ended_at_ms"] is not None:
        print(f"{found['name']} ({found['id']}) has already ended: {found['state']}")
    else:
        print(f"{found['name']} ({found['id']}) will be cancelled; see it end: podwright watch {found['id']}")


def list_events(ctx: typer.Context, job: JobArgument, as_json: JsonOption = False) -> None:
    """A job's whole history, oldest first."""
    with control_plane(ctx.obj) as client:
        events = client.events(job)
    if as_json:
        print_json(events)
        return
    from orchestrator.cli.remote.tables import events_table

    console().print(events_table(events))


def _now_ms() -> int:
    from orchestrator.clock import SystemClock  # it brings asyncio, for which help must not wait

    return SystemClock().now_ms()
