"""What a shell offers for JOB: names and ids from the control plane that a command would talk to."""

import os
from pathlib import Path

from orchestrator.cli import profiles, state
from orchestrator.cli.failures import CommandFailed
from orchestrator.cli.remote.connection import Target, control_plane

_OFFERED = 200


def complete_job(incomplete: str) -> list[tuple[str, str]]:
    """Names and ids that begin so, each with its state. Silence where no control plane answers: this is no command."""
    try:
        with control_plane(_target()) as client:
            found = client.jobs(limit=_OFFERED)["items"]
    except CommandFailed:
        return []
    newest: dict[str, str] = {}
    for job in found:
        newest.setdefault(job["name"], job["state"])
        newest[job["id"]] = f"{job['name']} {job['state']}"
    return [(word, about) for word, about in newest.items() if word.startswith(incomplete)]


def _target() -> Target:
    """As the command tree finds it, but for options: a shell does not pass on those that stand before."""
    named = os.environ.get(state.ENVIRONMENT_VARIABLE)
    return Target(
        state.state_dir(Path(named) if named else None, Path.cwd()),
        os.environ.get("PODWRIGHT_SERVER"),
        os.environ.get("PODWRIGHT_TOKEN"),
        os.environ.get("PODWRIGHT_PROFILE"),
        profiles.folder(os.environ),
    )
