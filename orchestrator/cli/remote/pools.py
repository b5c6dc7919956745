"""`pools`: what there is, how much there may be, and what the scheduler wishes."""

from typing import Annotated

import typer

from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.output import JsonOption, console, print_json

PoolArgument = Annotated[str, typer.Argument(metavar="POOL", help="A pool's name.")]


def list_pools(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List all pools: how many slices they have, how many they may have, and what is wished of them."""
    with control_plane(ctx.obj) as client:
        found = client.pools.list()
    if as_json:
        print_json(found)
        return
    from orchestrator.cli.remote.tables import pools_table

    console().print(pools_table(found) if found else "no pools: no cluster has connected yet")


def limit_pool(
    ctx: typer.Context,
    pool: PoolArgument,
    most: Annotated[int, typer.Option(min=0, help="At most so many slices.")],
    least: Annotated[int, typer.Option(min=0, help="Never fewer than these.")] = 0,
) -> None:
    """Say how many slices a pool may have: within that the scheduler wishes for more, or that idle ones go."""
    with control_plane(ctx.obj) as client:
        client.pools.limit(pool, least, most)
    print(f"pool {pool} may have {least} to {most} slices")


def unlimit_pool(ctx: typer.Context, pool: PoolArgument) -> None:
    """Wish nothing of the pool any more."""
    with control_plane(ctx.obj) as client:
        client.pools.unlimit(pool)
    print(f"nothing is wished of pool {pool} any more")
