"""`podwright simulate`: a trace on a fleet that does not exist, under one policy or several side by side."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.failures import CommandFailed, Exit

if TYPE_CHECKING:  # the simulator is imported when it is used
    from orchestrator.simulator.records import Outcome
    from orchestrator.simulator.trace import TraceJob


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="On this machine")(simulate)


def simulate(
    trace: Annotated[Path, typer.Option("--trace", help="Jobs: a .csv, a .swf, or what `jobs list --json` printed.")],
    fleet: Annotated[
        list[str],
        typer.Option("--fleet", help="A fleet file (YAML), or a number of one-chip slices. Repeat to compare."),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            help="default, easy, fifo, slowdown or share-first, with settings if wanted: "
            "default,reservations=4,min_runtime=10m. Repeat to compare.",
        ),
    ] = None,
    what_if: Annotated[
        list[str] | None, typer.Option("--what-if", help="Compare with this policy or fleet instead. May be repeated.")
    ] = None,
    workload: Annotated[str | None, typer.Option(help="Of a CSV that holds several.")] = None,
    estimates: Annotated[str, typer.Option(help="What the scheduler is told: exact, user or learned.")] = "exact",
    start_cost: Annotated[str, typer.Option(help="From a gang's order to its first step.")] = "0s",
    commit_every: Annotated[str, typer.Option(help="Work between two commits; 0s: all is committed at once.")] = "0s",
    save_time: Annotated[str, typer.Option(help="From a stop order to the end, with all committed.")] = "0s",
    host_mtbf_hours: Annotated[
        float | None, typer.Option(min=0.001, help="Mean time between a host's failures.")
    ] = None,
    spot_mtbf_hours: Annotated[
        float | None, typer.Option(min=0.001, help="Mean time until a spot slice is taken.")
    ] = None,
    repair_hours: Annotated[float, typer.Option(min=0.001, help="Mean time until a lost slice is back.")] = 0.5,
    error_share: Annotated[float, typer.Option(min=0, max=1, help="Of attempts whose program fails.")] = 0.0,
    losses: Annotated[Path | None, typer.Option(help="Losses from a CSV: slice,at_s,back_at_s,kind.")] = None,
    seed: Annotated[int, typer.Option(help="Of the fault model.")] = 0,
    gantt: Annotated[
        Path | None, typer.Option(help="Draw slices over time here: .svg or .png. First side only.")
    ] = None,
    gantt_hours: Annotated[float | None, typer.Option(min=0.01, help="Draw only the busiest so many hours.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Run a trace of jobs through the scheduler on a virtual clock, and print how they fared."""
    from orchestrator.simulator.engine import simulate as run
    from orchestrator.simulator.faults import FaultModel, read_losses
    from orchestrator.simulator.fleet import BadFleet
    from orchestrator.simulator.gang import Costs
    from orchestrator.simulator.metrics import summarise
    from orchestrator.simulator.reading import BadQuestion, Question, sides
    from orchestrator.simulator.trace import BadTrace
    from orchestrator.simulator.workload import Estimates

    try:
        question = Question(
            _jobs(trace, workload),
            Estimates(estimates),
            Costs(_span_ms(start_cost), _span_ms(commit_every) or None, _span_ms(save_time)),
            FaultModel(host_mtbf_hours, spot_mtbf_hours, repair_hours, error_share, seed),
            read_losses(losses) if losses else {},
        )
        asked = sides(question, policy or ["default"], fleet, what_if or [])
    except (BadTrace, BadFleet, BadQuestion, OSError, ValueError) as error:
        raise CommandFailed(str(error), Exit.USAGE) from None
    outcomes = [run(side.setup) for side in asked]
    if gantt is not None:
        _draw(gantt, outcomes[0], gantt_hours)
    summaries = [summarise(outcome) for outcome in outcomes]
    if as_json:
        print(json.dumps({side.label: asdict(s) for side, s in zip(asked, summaries, strict=True)}, indent=2))
        return
    _print_table([side.label for side in asked], outcomes)


def _print_table(labels: list[str], outcomes: "list[Outcome]") -> None:
    from orchestrator.cli.remote.output import console
    from orchestrator.cli.remote.tables import columns
    from orchestrator.simulator.metrics import summarise
    from orchestrator.simulator.table import rows

    table = columns("", *labels, *(["change"] if len(labels) > 1 else []))
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows([summarise(outcome) for outcome in outcomes]):
        table.add_row(row.label, *row.texts, *([row.change] if len(labels) > 1 else []))
    console().print(table)
    for label, outcome in zip(labels, outcomes, strict=True):
        if outcome.unfit:
            print(f"{label}: {outcome.unfit} jobs are larger than every pool and were left out")


def _jobs(path: Path, workload: str | None) -> "tuple[TraceJob, ...]":
    from orchestrator.simulator.recorded import read_recorded
    from orchestrator.simulator.trace import read_trace

    return read_recorded(path) if path.suffix == ".json" else read_trace(path, workload)


def _draw(path: Path, outcome: "Outcome", hours: float | None) -> None:
    from orchestrator.simulator import gantt

    until_ms = max((run.until_ms for run in outcome.runs), default=1)
    window = (0, until_ms) if hours is None else gantt.worst_hours(outcome.runs, int(hours * 3_600_000))
    match path.suffix:
        case ".svg":
            path.write_text(gantt.svg(outcome.runs, outcome.slices, *window), encoding="utf-8")
        case ".png":
            path.write_bytes(gantt.png(outcome.runs, outcome.slices, *window))
        case _:
            raise CommandFailed(f"{path.name}: a picture is .svg or .png", Exit.USAGE)


def _span_ms(text: str) -> int:
    from orchestrator.domain.spec import duration_ms

    return 0 if text in ("0", "0s") else duration_ms(text, "a time span") or 0
