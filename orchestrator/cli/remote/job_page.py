"""`jobs show`: everything about one job on one page, from the API's answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from orchestrator.cli.remote.failure_card import failure_card
from orchestrator.cli.remote.tables import Answer, columns
from orchestrator.cli.remote.wording import STATE_COLOURS, moment, plain, size, span, steps
from orchestrator.domain.endings import ENDINGS

_CHARGES = {reason.value: ending.charges.value for reason, ending in ENDINGS.items() if ending.charges}


@dataclass(frozen=True, slots=True)
class JobPage:
    """What the page is made of."""

    job: Answer
    attempts: Sequence[Answer]
    checkpoints: Sequence[Answer]
    ledger: Answer

    def render(self, now_ms: int) -> Group:
        parts: list[Any] = [*_head(self.job, self.ledger, now_ms)]
        if self.attempts:
            parts += [Text(), _attempts(self.attempts, now_ms)]
        if failed := [attempt for attempt in self.attempts if attempt.get("card")]:
            parts += [Text(), *failure_card(failed[-1])]
        if self.checkpoints:
            parts += [Text(), _checkpoints(self.checkpoints)]
        return Group(*parts)


def charged_to(reason: str | None) -> str:
    """The budget that an ending draws on, `nothing`, or empty for an attempt that goes on."""
    if reason is None:
        return ""
    return _CHARGES.get(reason, "nothing")


def time_to_detect(attempt: Answer) -> int | None:
    """From the first that is known of the trouble to its detection; of a lost host since its last sign of life."""
    if (card := attempt.get("card")) and card["detect_ms"] is not None:
        return int(card["detect_ms"])
    sign, detected = attempt["last_sign_at_ms"], attempt["detected_at_ms"]
    return None if sign is None or detected is None else max(0, detected - sign)


def _head(job: Answer, ledger: Answer, now_ms: int) -> Iterator[Text]:
    yield Text.assemble((job["name"], "bold"), f"  {job['id']}  ", (job["state"], STATE_COLOURS.get(job["state"], "")))
    if job["message"]:
        label = "why" if job["reason"] else "waits" if job["state"] == "QUEUED" else "note"
        yield _line(label, plain(job["message"]))
    asked = " or ".join(f"{c['slices']} ({c['chips']} chips, {c['hosts']} hosts)" for c in job["choices"])
    yield _line("asks for", asked)
    yield _line("submitted", f"{moment(job['created_at_ms'])}, {span(max(0, now_ms - job['created_at_ms']))} ago")
    if progress := job["progress"]:
        facts = [f"step {made}" if (made := steps(progress["step"], progress["total_steps"])) else "no step reported"]
        facts += [f"phase {progress['phase']}"] if progress["phase"] and not job["ended_at_ms"] else []
        yield _line("progress", ", ".join(facts))
    if job["committed_step"] is not None:
        yield _line("committed", f"step {job['committed_step']:,}")
    if drawn := {budget: count for budget, count in job["charges"].items() if count}:
        yield _line("restarts", ", ".join(f"{count} charged to {budget}" for budget, count in drawn.items()))
    if ledger["goodput"] is not None:
        chip_time = span(ledger["allocated_chip_ms"])
        yield _line("goodput", f"{100 * ledger['goodput']:.0f} % of {chip_time} of chip time")


def _line(label: str, value: str) -> Text:
    return Text.assemble((f"  {label:<10}", "dim"), value)


def _attempts(attempts: Sequence[Answer], now_ms: int) -> Table:
    table = columns("attempt", "ended", "charged to", "slices and hosts", "chips", "took", "what happened")
    for attempt in attempts:
        until = attempt["ended_at_ms"] or now_ms
        table.add_row(
            str(attempt["number"]),
            attempt["reason"] or "live",
            charged_to(attempt["reason"]),
            _places(attempt),
            str(attempt["chips"]),
            span(max(0, until - attempt["ordered_at_ms"])),
            _story(attempt),
        )
    return table


def _places(attempt: Answer) -> str:
    ranks = [f"rank {rank['rank']} on {rank['slice_id']}/{rank['host']}" for rank in attempt["ranks"]]
    return "\n".join(ranks or attempt["slices"])


def _story(attempt: Answer) -> str:
    told = []
    progress = attempt["progress"] or {}
    if progress.get("resumed_step"):
        told.append(f"went on from step {progress['resumed_step']:,}")
    if progress.get("step") is not None:
        told.append(f"reached step {progress['step']:,}")
    if attempt["cause"]:
        told.append(plain(attempt["cause"]["sentence"]))
    if (detect_ms := time_to_detect(attempt)) is not None:
        told.append(f"detected after {span(detect_ms)}")
    return "; ".join(told)


def _checkpoints(checkpoints: Sequence[Answer]) -> Table:
    table = columns("checkpoint", "attempt", "state", "size", "saved in", "path")
    for saved in checkpoints:
        table.add_row(
            f"step {saved['step']:,}",
            str(saved["attempt"]),
            saved["state"],
            "" if saved["bytes"] is None else size(saved["bytes"]),
            "" if saved["save_ms"] is None else span(saved["save_ms"]),
            saved["path"],
        )
    return table
