"""`podwright up`, `down` and `demo`."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.local import simulate
from orchestrator.domain.topology import SliceShape

SlicesOption = Annotated[str, typer.Option("--slices", help="Shape of the emulated slices.")]
CountOption = Annotated[int, typer.Option(min=1, max=64, help="How many emulated slices.")]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="On this machine")(up)
    app.command(rich_help_panel="On this machine")(down)
    app.command(rich_help_panel="On this machine")(demo)
    app.command(rich_help_panel="On this machine")(backup)
    simulate.register(app)


def up(
    ctx: typer.Context,
    slices: SlicesOption = "v5e:2x4",
    count: CountOption = 2,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Of the server; any free one by default.")] = None,
) -> None:
    """Run a control plane and an emulated TPU pool here, until Ctrl-C."""
    from orchestrator.cli.local.interrupt import Interrupt, Interrupted
    from orchestrator.cli.local.launcher import AlreadyRunning, Launcher, StartFailed
    from orchestrator.cli.local.siblings import LocalPlan

    plan = LocalPlan(_state_dir(ctx), _shape(slices), count, port)
    interrupt = Interrupt()
    interrupt.install()
    try:
        launcher = Launcher(plan, interrupt, say)
    except OSError as error:
        raise CommandFailed(f"the state folder {plan.state_dir} cannot be used: {error}", Exit.USAGE) from None
    except AlreadyRunning as running:
        say(f"{running}; its logs are in {plan.state_dir / 'logs'}")
        return
    try:
        say(f"starting a control plane and {count} emulated {slices} in {plan.state_dir} …")
        launcher.start()
        say(f"ready at {launcher.url}: the dashboard, and the API under /api/v1")
        say(f"to sign in there, the token is in {plan.state_dir / 'admin.token'}")
        say(f"in another terminal:  podwright run --slices {slices} -- echo hello")
        say("and:  podwright slices    podwright --help")
        say("Ctrl-C ends everything")
        launcher.supervise()
    except Interrupted:
        say("ending …")
    except StartFailed as failure:
        raise CommandFailed(str(failure)) from None
    finally:
        launcher.stop()
    say("ended; nothing is left running")


def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="To write; must not be there yet.")],
) -> None:
    """Copy the database of the control plane here while it runs. Logs and checkpoints are plain files."""
    import subprocess
    import sys

    # A process of its own, like the server: the command line knows no database.
    asked = [sys.executable, "-m", "orchestrator.backup", "--state-dir", str(_state_dir(ctx)), str(file)]
    made = subprocess.run(asked, capture_output=True, text=True, check=False)
    if made.returncode:
        raise CommandFailed(made.stderr.strip() or "the backup failed")
    say(made.stdout.strip())


def down(ctx: typer.Context, quiet: Annotated[bool, typer.Option(help="Say nothing.")] = False) -> None:
    """End what `podwright up` started here and left running."""
    from orchestrator.cli.local.launcher import end_recorded

    ended = end_recorded(_state_dir(ctx))
    if not quiet:
        say(f"ended: {', '.join(ended)}" if ended else "nothing was running")


def demo(ctx: typer.Context) -> None:
    """Train on two emulated slices, take a host away half-way, and see the job recover. Under four minutes."""
    from orchestrator.cli.local.demo import run_demo

    raise typer.Exit(run_demo(_state_dir(ctx) / "demo", say))


def say(line: str) -> None:
    print(line, flush=True)


def _state_dir(ctx: typer.Context) -> Path:
    path: Path = ctx.obj.state_dir
    return path


def _shape(text: str) -> SliceShape:
    try:
        return SliceShape.parse(text)
    except ValueError as error:
        raise CommandFailed(f"--slices: {error}", Exit.USAGE) from None
