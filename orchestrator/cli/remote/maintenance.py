"""`maintenance`: when slices will be out, and why."""

from datetime import datetime, time, timedelta
from typing import Annotated

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.output import JsonOption, console, print_json

_WRITE = "write 14:00, 2026-12-01T14:00 or now"


def list_maintenance(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List what is under way or to come, soonest first."""
    with control_plane(ctx.obj) as client:
        found = client.maintenance.list()
    if as_json:
        print_json(found)
        return
    from orchestrator.cli.remote.tables import maintenance_table

    console().print(maintenance_table(found) if found else "no maintenance is declared")


def declare_maintenance(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of a slice; with --pool, of a pool.")],
    since: Annotated[str, typer.Option("--from", help=f"When it begins: {_WRITE}.")],
    until: Annotated[str, typer.Option("--until", help="When it ends: the same.")],
    reason: Annotated[str, typer.Option("--reason", help="For those whose jobs have to wait.")],
    pool: Annotated[bool, typer.Option("--pool", help="Every slice of the pool of that name.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Declare that a slice is out for a while: nothing starts that would run into it, and what runs is asked to go."""
    from orchestrator.clock import SystemClock  # it brings asyncio, for which help must not wait

    now = datetime.fromtimestamp(SystemClock().now_ms() / 1000).astimezone()
    begins = read_moment(since, now, "--from")
    ends = read_moment(until, begins, "--until")
    with control_plane(ctx.obj) as client:
        made = client.maintenance.declare(name, _ms(begins), _ms(ends), reason, pool=pool)
    if as_json:
        print_json(made)
        return
    print(f"{made['target']} {name} is out from {begins:%Y-%m-%d %H:%M} until {ends:%Y-%m-%d %H:%M} ({made['id']})")


def withdraw_maintenance(
    ctx: typer.Context, maintenance: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")]
) -> None:
    """Take it back; what is under way is over."""
    with control_plane(ctx.obj) as client:
        client.maintenance.withdraw(maintenance)
    print(f"{maintenance} is withdrawn")


def read_moment(text: str, after: datetime, option: str) -> datetime:
    """The moment that somebody wrote. A time of day is its next one at or after `after`, in whose zone all is meant.

    Raises:
        CommandFailed: it is none; the message says how to write it.
    """
    if text == "now":
        return after
    try:
        if "-" in text:
            read = datetime.fromisoformat(text)
            return read if read.tzinfo is not None else read.replace(tzinfo=after.tzinfo)
        of_day = time.fromisoformat(text)
    except ValueError:
        raise CommandFailed(f"{option}: {text!r} is not a moment; {_WRITE}", Exit.USAGE) from None
    moment = datetime.combine(after.date(), of_day, after.tzinfo)
    return moment if moment >= after else moment + timedelta(days=1)


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
