"""Looks at a running job again and again, and shows it until it has ended."""

import time
from typing import Any, Final

from rich.console import Console

from orchestrator.cli.remote.frame import SERIES, Frame
from orchestrator.cli.remote.full_screen import FullScreen, Picture
from orchestrator.cli.remote.screen import Screen
from orchestrator.client import Client, UnavailableError

_PAUSE_S: Final = 1.0
_POINTS: Final = 400
"""Of the curve: more than a terminal has dots."""
_AWAY: Final = "the control plane does not answer; the job is not touched by that; still trying"


def look(client: Client, job_id: str) -> tuple[dict[str, Any], Frame]:
    """The job now, and the frame that shows it."""
    job = client.job(job_id)
    metrics = client.metrics(job_id, SERIES, attempt=job["attempts"], last=1) if job["attempts"] else []
    return job, Frame.of(job, metrics)


def show_until_ended(client: Client, job_id: str, console: Console) -> dict[str, Any]:
    if not console.is_terminal:
        return _tell_until_ended(client, job_id, console)
    with FullScreen(console) as screen:
        while True:
            try:
                job, frame = look(client, job_id)
                curves = client.metrics(job_id, ("loss",), points_each=_POINTS)
                screen.show(Picture(frame, curves[0] if curves else {}, client.events(job_id)))
            except UnavailableError:
                screen.say(_AWAY)
                continue  # the client has already waited between its own tries
            if frame.ended:
                break
            time.sleep(_PAUSE_S)
    console.print(frame.line, soft_wrap=True)  # the picture is gone: leave a line
    return job


def _tell_until_ended(client: Client, job_id: str, console: Console) -> dict[str, Any]:
    """One line per milestone, for a pipe."""
    with Screen(console) as screen:
        while True:
            try:
                job, frame = look(client, job_id)
            except UnavailableError:
                screen.say(_AWAY)
                continue
            screen.show(frame)
            if frame.ended:
                return job
            time.sleep(_PAUSE_S)
