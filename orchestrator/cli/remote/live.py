"""Looks at a running job again and again, and shows it until it has ended."""

import time
from typing import Any, Final

from rich.console import Console

from orchestrator.cli.remote.frame import SERIES, Frame
from orchestrator.cli.remote.screen import Screen
from orchestrator.client import Client, UnavailableError

_PAUSE_S: Final = 1.0


def look(client: Client, job_id: str) -> tuple[dict[str, Any], Frame]:
    """The job now, and the frame that shows it."""
    job = client.job(job_id)
    metrics = client.metrics(job_id, SERIES, attempt=job["attempts"], last=1) if job["attempts"] else []
    return job, Frame.of(job, metrics)


def show_until_ended(client: Client, job_id: str, console: Console) -> dict[str, Any]:
    with Screen(console) as screen:
        while True:
            try:
                job, frame = look(client, job_id)
            except UnavailableError:
                screen.say("the control plane does not answer; the job is not touched by that; still trying")
                continue  # the client has already waited between its own tries
            screen.show(frame)
            if frame.ended:
                break
            time.sleep(_PAUSE_S)
    if console.is_terminal:  # the live picture is gone: leave a line
        console.print(frame.line, soft_wrap=True)
    return job
