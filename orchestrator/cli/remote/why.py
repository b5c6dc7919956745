"""`why`: what keeps a job from running, when it will start, and what would help."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.cli.remote.connection import control_plane
from orchestrator.cli.remote.jobs import JobArgument
from orchestrator.cli.remote.output import JsonOption, console, print_json

if TYPE_CHECKING:
    from rich.text import Text

Answer = Mapping[str, Any]


def why_job(ctx: typer.Context, job: JobArgument, as_json: JsonOption = False) -> None:
    """Say why a job does not run yet, when it will probably start, and what would help."""
    with control_plane(ctx.obj) as client:
        found = client.job(job)
        told = client.why(found["id"])
    if as_json:
        print_json(told)
        return
    from orchestrator.clock import SystemClock  # it brings asyncio, for which help must not wait

    for line in why_page(found, told, SystemClock().now_ms()):
        console().print(line)


def why_page(job: Answer, told: Answer, now_ms: int) -> Iterator["Text"]:
    """The answer for people, line by line."""
    from rich.text import Text

    from orchestrator.cli.remote.wording import STATE_COLOURS, plain, span

    queue = f", {_ordinal(told['place'])} of {told['of']} that wait for slices" if told["place"] else ""
    state = told["state"]
    yield Text.assemble((job["name"], "bold"), f"  {job['id']}  ", (state, STATE_COLOURS.get(state, "")), queue)
    if not told["waits"]:
        yield _line("", "it does not wait" + (f": {plain(told['message'])}" if told["message"] else ""))
        return
    for number, blocker in enumerate(told["blockers"]):
        yield _line("" if number else "waits", plain(blocker["says"]))
    yield _line("start", _start(told, now_ms))
    for number, way in enumerate(told["ways_out"]):
        yield _line("" if number else "ways out", plain(way["says"]))
    if not told["ways_out"] and told["ways_as_of_ms"] is not None:
        yield _line("ways out", "no single change would start it now")
    if told["as_of_ms"] is not None:
        yield _line("", f"as of {span(max(0, now_ms - told['as_of_ms']))} ago", style="dim")


def _start(told: Answer, now_ms: int) -> str:
    from orchestrator.cli.remote.wording import moment, span

    def away(at_ms: int) -> str:
        return span(max(0, at_ms - now_ms))

    if (start := told["start"]) is not None:
        if start["latest_ms"] <= now_ms:
            return "at any moment"
        between = f"between {away(start['earliest_ms'])} and {away(start['latest_ms'])} from now"
        return f"probably in {away(start['at_ms'])} ({moment(start['at_ms'])}), {between}"
    if told["not_before_ms"] is not None:
        return f"not within {away(told['not_before_ms'])}"
    if told["as_of_ms"] is None:
        return "not known yet"
    return "never, as things are: nothing that runs now would let it start by ending"


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _line(label: str, value: str, style: str = "") -> "Text":
    from rich.text import Text

    return Text.assemble((f"  {label:<10}", "dim"), (value, style))
