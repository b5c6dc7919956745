"""`slices`: what there is to run on."""

import typer

from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.output import JsonOption, console, print_json


def list_slices(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List all slices: what they are, whether they are up, and which attempt holds them."""
    with control_plane(ctx.obj) as client:
        found = client.fleet.slices()
    if as_json:
        print_json(found)
        return
    from orchestrator.cli.remote.tables import slices_table

    console().print(slices_table(found) if found else "no slices: no cluster has connected yet")
