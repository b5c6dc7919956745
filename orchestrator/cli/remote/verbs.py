"""What is asked of jobs: `jobs hold|release|priority|clone|retry`, and `jobs ask` for many at once."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.jobs import JobArgument
from orchestrator.cli.remote.output import JsonOption, console, print_json
from orchestrator.domain.lifecycle import JobState


class Verb(StrEnum):
    """What can be asked of many jobs at once."""

    CANCEL = "cancel"
    HOLD = "hold"
    RELEASE = "release"
    PRIORITY = "priority"


def hold_job(ctx: typer.Context, job: JobArgument, as_json: JsonOption = False) -> None:
    """Keep a job from running until it is released; what runs is stopped and goes on from its last checkpoint."""
    with control_plane(ctx.obj) as client:
        found = client.intent.hold(job)
    _tell(found, as_json, f"will be held; let it go on: podwright jobs release {found['id']}")


def release_job(ctx: typer.Context, job: JobArgument, as_json: JsonOption = False) -> None:
    """Let a held job go on."""
    with control_plane(ctx.obj) as client:
        found = client.intent.release(job)
    _tell(found, as_json, "is released")


def change_priority(
    ctx: typer.Context,
    job: JobArgument,
    priority: Annotated[str, typer.Argument(help="production, normal or batch, or e.g. normal/10.")],
    as_json: JsonOption = False,
) -> None:
    """Give a job another priority; what runs keeps the one with which it started."""
    with control_plane(ctx.obj) as client:
        found = client.intent.change_priority(job, priority)
    _tell(found, as_json, f"now has priority {priority}")


def clone_job(
    ctx: typer.Context,
    job: JobArgument,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a value of its spec; repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Submit a job with the same spec, or one that differs in some values."""
    from orchestrator.cli.remote.settings import apply_settings

    with control_plane(ctx.obj) as client:
        spec = client.job(job)["spec"]
        changed = apply_settings(spec, set_ or ())
        found = client.intent.clone(job, {name: value for name, value in changed.items() if value != spec.get(name)})
    _tell(found, as_json, f"is {found['state']}; see it run: podwright watch {found['id']}")


def retry_job(ctx: typer.Context, job: JobArgument, as_json: JsonOption = False) -> None:
    """Submit a job that has ended once more, as a new job that is linked to it."""
    with control_plane(ctx.obj) as client:
        found = client.intent.retry(job)
    _tell(found, as_json, f"is {found['state']}; see it run: podwright watch {found['id']}")


def ask_jobs(
    ctx: typer.Context,
    verb: Verb,
    state: Annotated[JobState | None, typer.Option(help="Those in this state.", case_sensitive=False)] = None,
    name: Annotated[str | None, typer.Option(help="Those of this name.")] = None,
    project: Annotated[str | None, typer.Option(help="Those of this project.")] = None,
    owner: Annotated[str | None, typer.Option(help="Those of this user.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All that you may see.")] = False,
    priority: Annotated[str | None, typer.Option(help="With `priority`: the new one.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which jobs are meant.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Ask the same of all jobs that are meant and have not ended: cancel, hold, release or priority."""
    given = {"state": state and state.value, "name": name, "project": project, "owner": owner, "all": all_ or None}
    which = {field: value for field, value in given.items() if value is not None}
    if not which:
        raise CommandFailed("say which jobs are meant: --state, --name, --project, --owner, or --all", Exit.USAGE)
    if (verb is Verb.PRIORITY) != (priority is not None):
        raise CommandFailed("--priority goes with the verb priority, and that needs it", Exit.USAGE)
    with control_plane(ctx.obj) as client:
        answer = client.intent.ask_many(verb.value, which, priority=priority, dry_run=dry_run)
    if as_json:
        print_json(answer)
        return
    said = f"{verb.value} would be asked of" if dry_run else f"{verb.value} was asked of"
    console().print(f"{said} {len(answer['asked'])} jobs{':' if answer['asked'] else ''}")
    for job_id in answer["asked"]:
        console().print(f"  {job_id}")
    for refused in answer["refused"]:
        console().print(f"  not of {refused['id']}: {refused['why']}")


def _tell(job: dict[str, Any], as_json: bool, said: str) -> None:
    if as_json:
        print_json(job)
    else:
        print(f"{job['name']} ({job['id']}) {said}")
