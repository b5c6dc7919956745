"""`checkpoints list|show|verify|pin|unpin|delete|export|orphans` and `continue`."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.jobs import JobArgument
from orchestrator.cli.remote.output import JsonOption, console, print_json

if TYPE_CHECKING:
    from orchestrator.client import Client

StepArgument = Annotated[int, typer.Argument(metavar="STEP", help="A committed step.")]
AttemptOption = Annotated[
    int | None, typer.Option(min=1, help="Of which attempt, if several committed that step; else the newest.")
]
WaitOption = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for the cluster's answer.")]

_POLL_S: Final = 0.3


def list_checkpoints(ctx: typer.Context, job: JobArgument, as_json: JsonOption = False) -> None:
    """List a job's committed steps, and why retention keeps each."""
    with control_plane(ctx.obj) as client:
        found = client.checkpoints(job)
    if as_json:
        print_json(found)
        return
    from orchestrator.cli.remote.tables import checkpoints_table

    console().print(checkpoints_table(found) if found else "no checkpoints")


def show_checkpoint(
    ctx: typer.Context, job: JobArgument, step: StepArgument, attempt: AttemptOption = None, as_json: JsonOption = False
) -> None:
    """Show one step: size, duration, what was measured at it, and who went on from it."""
    with control_plane(ctx.obj) as client:
        fitting = [one for one in client.checkpoints(job) if one["step"] == step and attempt in (None, one["attempt"])]
    if not fitting:
        raise CommandFailed(f"{job} never committed step {step}")
    found = fitting[-1]
    if as_json:
        print_json(found)
        return
    users = [f"{user['job_id']} attempt {user['attempt']}" for user in found["restored_into"]]
    shown = found | {"metrics": _pairs(found["metrics"]), "restored_into": ", ".join(users)}
    for name, value in shown.items():
        if value not in (None, ""):
            print(f"{name:<14} {value}")


def verify_checkpoint(
    ctx: typer.Context,
    job: JobArgument,
    step: StepArgument,
    attempt: AttemptOption = None,
    wait_s: WaitOption = 600,
    as_json: JsonOption = False,
) -> None:
    """Have every byte of a step compared with what was committed. Exit code 1 if it is damaged."""
    with control_plane(ctx.obj) as client:
        _follow(client, job, client.verify_checkpoint(job, step, attempt), wait_s, as_json)


def export_checkpoint(
    ctx: typer.Context,
    job: JobArgument,
    step: StepArgument,
    target: Annotated[str, typer.Argument(metavar="FOLDER", help="gs://… or a folder of the cluster's head.")],
    attempt: AttemptOption = None,
    wait_s: WaitOption = 3600,
    as_json: JsonOption = False,
) -> None:
    """Have a step copied to another folder, with a manifest of its own."""
    with control_plane(ctx.obj) as client:
        _follow(client, job, client.export_checkpoint(job, step, target, attempt), wait_s, as_json)


def collect_orphans(
    ctx: typer.Context, job: JobArgument, wait_s: WaitOption = 600, as_json: JsonOption = False
) -> None:
    """Have what dead attempts left uncommitted deleted, a day after; foreign objects are only reported."""
    with control_plane(ctx.obj) as client:
        _follow(client, job, client.collect_orphans(job), wait_s, as_json)


def pin_checkpoint(
    ctx: typer.Context,
    job: JobArgument,
    step: StepArgument,
    note: Annotated[str | None, typer.Option(help="Why it is kept.")] = None,
    attempt: AttemptOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep a step for good, whatever retention says."""
    with control_plane(ctx.obj) as client:
        found = client.pin_checkpoint(job, step, note=note, attempt=attempt)
    print_json(found) if as_json else print(f"checkpoint {found['path']} is pinned")


def unpin_checkpoint(
    ctx: typer.Context, job: JobArgument, step: StepArgument, attempt: AttemptOption = None, as_json: JsonOption = False
) -> None:
    """Leave a step to retention again."""
    with control_plane(ctx.obj) as client:
        found = client.pin_checkpoint(job, step, pinned=False, attempt=attempt)
    print_json(found) if as_json else print(f"checkpoint {found['path']} is no longer pinned")


def delete_checkpoint(
    ctx: typer.Context, job: JobArgument, step: StepArgument, attempt: AttemptOption = None, as_json: JsonOption = False
) -> None:
    """Have a step deleted. The newest commit and pinned steps are refused."""
    with control_plane(ctx.obj) as client:
        found = client.delete_checkpoint(job, step, attempt)
    print_json(found) if as_json else print(f"checkpoint {found['path']} is {found['state']}")


def continue_job(
    ctx: typer.Context,
    job: JobArgument,
    step: Annotated[int | None, typer.Option("--from", metavar="STEP", help="Else the newest commit.")] = None,
    attempt: AttemptOption = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Lay a value over the spec; repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Submit a new job that begins at a committed step of another, and show what differs in its spec."""
    from orchestrator.cli.remote.settings import apply_settings

    settings = apply_settings({}, set_ or ())
    with control_plane(ctx.obj) as client:
        found = client.continue_job(job, step=step, attempt=attempt, settings=settings)
    if as_json:
        print_json(found)
        return
    new = found["job"]
    print(f"{new['name']} ({new['id']}) is {new['state']}; it begins at {found['continues']}")
    for change in found["differences"]:
        print(f"  {change['path']}: {change['before']} -> {change['after']}")


def _follow(client: "Client", job: str, errand: Mapping[str, Any], wait_s: float, as_json: bool) -> None:
    deadline = time.monotonic() + wait_s
    while errand["ok"] is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        errand = client.errand(job, errand["id"])
    if as_json:
        print_json(errand)
    elif errand["ok"] is None:
        print(f"{errand['kind']} of checkpoint {errand['path']} is not done yet; its events will tell")
    else:
        print(f"{errand['kind']} of checkpoint {errand['path']}: {errand['message'] or 'done'}")
    if not errand["ok"]:
        raise typer.Exit(Exit.FAILED)


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(values.items()))
