"""The demo's story, driven and watched through the API: submit, train, lose a host half-way, go on, succeed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.cli.local.demo_report import Seen
from orchestrator.cli.local.interrupt import Interrupt
from orchestrator.cli.local.processes import Identity, kill_tree
from orchestrator.cli.remote.live import look
from orchestrator.cli.remote.screen import Screen
from orchestrator.cli.remote.wording import plain
from orchestrator.client import Client, UnavailableError
from orchestrator.clock import SystemClock

SPEC: Final[dict[str, Any]] = {
    "name": "demo",
    "slices": "v5e:2x4",
    "program": {
        "builtin": "train",
        "config": {"preset": "tiny", "steps": 100, "checkpoint_every": 20, "report_every": 2},
    },
}
_TOLD_KINDS: Final = frozenset({"job.state", "checkpoint.restored"})
_LOST_HOST: Final = 1
_LOOK_EVERY_S: Final = 0.5
_ENDS_WITHIN_S: Final = 600.0
"""The story takes two minutes on two free cores; on busy ones it is still told, but not for ever."""

HostProcess = Callable[[str, int], Identity | None]
"""The process that stands for a host of a slice, if it runs."""


class StoryBroke(Exception):
    """The story cannot be told to its end; the message says what came in between."""


@dataclass(frozen=True, slots=True)
class _Loss:
    """Our own deed: when the host was killed, and how far the job was."""

    at_ms: int
    step: int


def tell(client: Client, host_process: HostProcess, interrupt: Interrupt, screen: Screen) -> Seen:
    """Play the story to its end; what was seen of it.

    Raises:
        StoryBroke: the job ended before a host was lost, or did not end in time.
        Interrupted: Ctrl-C or SIGTERM.
    """
    submitted_at_ms = _now_ms()
    job_id = client.submit(SPEC)["id"]
    screen.say(f"submitted job {job_id}: a Transformer in JAX and Flax, two processes, a mesh of eight devices")
    deadline = time.monotonic() + _ENDS_WITHIN_S
    loss: _Loss | None = None
    told = 0
    while True:
        try:
            job, frame = look(client, job_id)
            told = _tell_events(client, job_id, told, screen)
        except UnavailableError as error:
            raise StoryBroke(f"the control plane stopped answering: {error}") from None
        screen.show(frame)
        if frame.ended:
            break
        if loss is None and _half_way(job):
            loss = _take_host_away(job, host_process, screen)
        if time.monotonic() > deadline:
            raise StoryBroke(f"the job had not ended after {_ENDS_WITHIN_S:.0f} s; it is {frame.line}")
        interrupt.pause(_LOOK_EVERY_S)
    if loss is None:
        raise StoryBroke(f"the job ended before it was half-way: {frame.line}")
    return Seen(
        submitted_at_ms=submitted_at_ms,
        killed_at_ms=loss.at_ms,
        step_when_killed=loss.step,
        job=job,
        attempts=client.attempts(job_id),
        checkpoints=client.checkpoints(job_id),
        ledger=client.ledger(job_id),
        losses=[float(value) for series in client.metrics(job_id, ["loss"]) for value in series["values"]],
    )


def _tell_events(client: Client, job_id: str, told: int, screen: Screen) -> int:
    """Say what has newly happened to the job, in the control plane's own words; how many events are told by now."""
    events = client.events(job_id)
    for event in events[told:]:
        if event["kind"] in _TOLD_KINDS:
            screen.say(f"  {plain(event['message'])}")
    return len(events)


def _half_way(job: dict[str, Any]) -> bool:
    """Half the steps are done, some of them since the last commit, so that the loss costs something to see."""
    progress = job["progress"] or {}
    step, total, committed = (progress.get(name) for name in ("step", "total_steps", "committed_step"))
    running = job["state"] == "RUNNING"
    return bool(running and step and total and committed and 2 * step > total and step > committed)


def _take_host_away(job: dict[str, Any], host_process: HostProcess, screen: Screen) -> _Loss:
    slice_id = job["attempt"]["slices"][0]
    process = host_process(slice_id, _LOST_HOST)
    if process is None:
        raise StoryBroke(f"host {_LOST_HOST} of {slice_id} is not there to be taken away")
    step = int(job["progress"]["step"])
    screen.say(f"taking host {_LOST_HOST} of {slice_id} away at step {step}, as a spot VM goes: SIGKILL to all of it")
    at_ms = _now_ms()
    kill_tree(process)
    return _Loss(at_ms, step)


def _now_ms() -> int:
    return SystemClock().now_ms()
