"""`cordon`, `drain`, `quarantine`, `readmit`: take slices out of use and back, each time with a reason."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.listing import show_list
from orchestrator.cli.remote.output import JsonOption, print_json

if TYPE_CHECKING:
    from orchestrator.client.fleet import Verb

_SAYS: Final[dict["Verb", str]] = {
    "cordon": "Let nothing new start there; what runs goes on.",
    "drain": "Let nothing new start there, and ask what runs to save and go elsewhere.",
    "quarantine": "Take it out of use because something is wrong with it.",
    "readmit": "Put it into use again.",
}
VERBS: Final = tuple(_SAYS)


def command(verb: "Verb") -> Callable[..., None]:
    """The command for one verb; all are alike."""

    def restrict(
        ctx: typer.Context,
        name: Annotated[str, typer.Argument(metavar="NAME", help="Of a slice; with --pool, of a pool.")],
        reason: Annotated[str, typer.Option(help="For those whose jobs have to wait, and for the audit.")],
        pool: Annotated[bool, typer.Option("--pool", help="The whole pool of that name.")] = False,
        host: Annotated[
            int | None, typer.Option(min=0, help="One host of the slice, which takes its slice out.")
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        if pool and host is not None:
            raise CommandFailed("give --pool or --host, not both", Exit.USAGE)
        with control_plane(ctx.obj) as client:
            if pool:
                found = client.fleet.restrict_pool(name, verb, reason)
            elif host is not None:
                found = client.fleet.restrict_host(name, host, verb, reason)
            else:
                found = client.fleet.restrict_slice(name, verb, reason)
        if as_json:
            print_json(found)
        else:
            what = f"pool {name}" if pool else f"host {host} of {name}" if host is not None else name
            print(f"{what}: {verb}, {reason}")

    restrict.__doc__ = _SAYS[verb]
    return restrict


def list_hosts(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List hosts: where they are, and what they have."""
    with control_plane(ctx.obj) as client:
        found = client.fleet.hosts()
    show_list(found, ("slice_id", "host", "address", "chips", "node_id"), "no hosts: no slice is up", as_json)


def list_clusters(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List clusters, and when each last spoke."""
    with control_plane(ctx.obj) as client:
        found = client.fleet.clusters()
    show_list(found, ("id", "seen_at_ms"), "no cluster has connected yet", as_json)
