"""The commands that talk to a control plane, as the command tree names them."""

import typer

from orchestrator.cli.remote import fleet, jobs, logs, submit, watch

_PANEL = "Jobs"


def register(app: typer.Typer) -> None:
    app.command("submit", rich_help_panel=_PANEL)(submit.submit)
    app.command("run", rich_help_panel=_PANEL)(submit.run)
    noun = typer.Typer(help="List jobs, or show one.", no_args_is_help=True)
    noun.command("list")(jobs.list_jobs)
    noun.command("show")(jobs.show_job)
    app.add_typer(noun, name="jobs", rich_help_panel=_PANEL)
    app.command("logs", rich_help_panel=_PANEL)(logs.logs)
    app.command("watch", rich_help_panel=_PANEL)(watch.watch)
    app.command("cancel", rich_help_panel=_PANEL)(jobs.cancel_job)
    app.command("events", rich_help_panel=_PANEL)(jobs.list_events)
    app.command("slices", rich_help_panel="Fleet")(fleet.list_slices)
