"""The commands that talk to a control plane, as the command tree names them."""

import typer

from orchestrator.cli.remote import (
    artifacts,
    checkpoints,
    explain,
    fleet,
    init,
    jobs,
    login,
    logs,
    maintenance,
    pools,
    submit,
    verbs,
    watch,
    why,
)

_PANEL = "Jobs"
_PLACES = "Control planes"


def register(app: typer.Typer) -> None:
    app.command("submit", rich_help_panel=_PANEL)(submit.submit)
    app.command("run", rich_help_panel=_PANEL)(submit.run)
    noun = typer.Typer(help="List jobs, show one, or ask something of them.", no_args_is_help=True)
    noun.command("list")(jobs.list_jobs)
    noun.command("show")(jobs.show_job)
    noun.command("cancel")(jobs.cancel_job)
    noun.command("hold")(verbs.hold_job)
    noun.command("release")(verbs.release_job)
    noun.command("priority")(verbs.change_priority)
    noun.command("clone")(verbs.clone_job)
    noun.command("retry")(verbs.retry_job)
    noun.command("ask")(verbs.ask_jobs)
    app.add_typer(noun, name="jobs", rich_help_panel=_PANEL)
    app.command("continue", rich_help_panel=_PANEL)(checkpoints.continue_job)
    saved = typer.Typer(help="List a job's checkpoints; verify, pin, delete or export one.", no_args_is_help=True)
    saved.command("list")(checkpoints.list_checkpoints)
    saved.command("show")(checkpoints.show_checkpoint)
    saved.command("verify")(checkpoints.verify_checkpoint)
    saved.command("pin")(checkpoints.pin_checkpoint)
    saved.command("unpin")(checkpoints.unpin_checkpoint)
    saved.command("delete")(checkpoints.delete_checkpoint)
    saved.command("export")(checkpoints.export_checkpoint)
    saved.command("orphans")(checkpoints.collect_orphans)
    app.add_typer(saved, name="checkpoints", rich_help_panel=_PANEL)
    left = typer.Typer(help="List the files that a job's program left, or get them.", no_args_is_help=True)
    left.command("list")(artifacts.list_artifacts)
    left.command("get")(artifacts.get_artifacts)
    app.add_typer(left, name="artifacts", rich_help_panel=_PANEL)
    app.command("logs", rich_help_panel=_PANEL)(logs.logs)
    app.command("watch", rich_help_panel=_PANEL)(watch.watch)
    app.command("why", rich_help_panel=_PANEL)(why.why_job)
    app.command("cancel", rich_help_panel=_PANEL)(jobs.cancel_job)
    app.command("events", rich_help_panel=_PANEL)(jobs.list_events)
    app.command("login", rich_help_panel=_PLACES)(login.login)
    app.command("logout", rich_help_panel=_PLACES)(login.logout)
    app.command("whoami", rich_help_panel=_PLACES)(login.whoami)
    known = typer.Typer(help="List the control planes you have logged in to, or use another.", no_args_is_help=True)
    known.command("list")(login.list_profiles)
    known.command("use")(login.use_profile)
    app.add_typer(known, name="profiles", rich_help_panel=_PLACES)
    app.command("init", rich_help_panel="Specs")(init.init)
    app.command("explain", rich_help_panel="Specs")(explain.explain)
    app.command("slices", rich_help_panel="Fleet")(fleet.list_slices)
    out = typer.Typer(help="List when slices are out for maintenance; declare or withdraw it.", no_args_is_help=True)
    out.command("list")(maintenance.list_maintenance)
    out.command("declare")(maintenance.declare_maintenance)
    out.command("withdraw")(maintenance.withdraw_maintenance)
    app.add_typer(out, name="maintenance", rich_help_panel="Fleet")
    shared = typer.Typer(help="List pools and what is wished of them; limit them.", no_args_is_help=True)
    shared.command("list")(pools.list_pools)
    shared.command("limit")(pools.limit_pool)
    shared.command("unlimit")(pools.unlimit_pool)
    app.add_typer(shared, name="pools", rich_help_panel="Fleet")
