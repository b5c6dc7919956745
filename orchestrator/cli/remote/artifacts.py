"""`artifacts list`, `artifacts get`: the files that a job's program left in `$PODWRIGHT_OUTPUT`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.jobs import JobArgument
from orchestrator.cli.remote.output import JsonOption, console, print_json
from orchestrator.domain.bundles import checked_path

if TYPE_CHECKING:
    from orchestrator.client import Client

AttemptOption = Annotated[int | None, typer.Option(min=1, help="Of this attempt only.")]
RankOption = Annotated[int | None, typer.Option(min=0, help="Of this rank only.")]


def list_artifacts(
    ctx: typer.Context,
    job: JobArgument,
    attempt: AttemptOption = None,
    rank: RankOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the files that a job's program left."""
    with control_plane(ctx.obj) as client:
        found = client.artifacts.list(job, attempt=attempt, rank=rank)
    if as_json:
        print_json(found)
        return
    from orchestrator.cli.remote.tables import artifacts_table

    console().print(artifacts_table(found) if found else "no files were left")


def get_artifacts(
    ctx: typer.Context,
    job: JobArgument,
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH…", help="Files, or folders; else all.")] = None,
    to: Annotated[Path, typer.Option(metavar="DIR", help="Where to: as attempt-N/rank-N/PATH.")] = Path("artifacts"),
    attempt: AttemptOption = None,
    rank: RankOption = None,
    as_json: JsonOption = False,
) -> None:
    """Get files that a job's program left, of the newest attempt unless one is named."""
    with control_plane(ctx.obj) as client:
        job_id = client.job(job)["id"]
        found = [one for one in client.artifacts.list(job_id, attempt=attempt, rank=rank) if one["state"] == "kept"]
        newest = attempt or max((one["attempt"] for one in found), default=0)
        wanted = [one for one in found if one["attempt"] == newest and _named(one["path"], paths or ())]
        if not wanted:
            raise CommandFailed(f"{job} left no such file; see: podwright artifacts list {job_id}")
        written = [_fetch(client, job_id, one, to) for one in wanted]
    if as_json:
        print_json([str(path) for path in written])
    else:
        print(*written, sep="\n")


def _named(path: str, wanted: list[str] | tuple[str, ...]) -> bool:
    return not wanted or any(path == one.rstrip("/") or path.startswith(f"{one.rstrip('/')}/") for one in wanted)


def _fetch(client: "Client", job_id: str, one: dict[str, Any], to: Path) -> Path:
    # Checked here too: whatever the server says, nothing is written outside the folder.
    path = to / f"attempt-{one['attempt']}" / f"rank-{one['rank']}" / checked_path(one["path"])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        with partial.open("wb") as file:
            for piece in client.artifacts.download(job_id, one["id"]):
                file.write(piece)
        partial.replace(path)
    except OSError as error:
        raise CommandFailed(f"cannot write {path}: {error.strerror}", Exit.USAGE) from None
    return path
