"""The card of an attempt's first failure, as `jobs show` prints it."""

from collections.abc import Iterator

from rich.text import Text

from orchestrator.cli.remote.tables import Answer
from orchestrator.cli.remote.wording import moment, plain, span

EVIDENCE_LINES = 10
STACK_LINES = 12
COLLATERAL_SHOWN = 8


def failure_card(attempt: Answer) -> Iterator[Text]:
    """Cause first, then who only fell with it, the evidence, and what to do."""
    card, cause = attempt["card"], attempt["cause"]
    yield Text(f"first failure, attempt {attempt['number']}: {cause['reason']}", style="bold")
    yield _line("what", plain(cause["sentence"]))
    if cause["rank"] is not None and cause["host"] is not None:
        yield _line("who", f"rank {cause['rank']} on {cause['slice_id']}/{cause['host']}")
    if facts := list(_circumstances(card)):
        yield _line("how", ", ".join(facts))
    if card["began_at_ms"] is not None:
        yield _line("when", f"{moment(card['began_at_ms'])}, detected after {span(card['detect_ms'])}")
    for collateral in card["collateral"][:COLLATERAL_SHOWN]:
        where = f"{collateral['slice_id']}/{collateral['host']}"
        yield _line("collateral", f"rank {collateral['rank']} on {where} {plain(collateral['says'])}")
    if (more := len(card["collateral"]) - COLLATERAL_SHOWN) > 0:
        yield _line("", f"and {more} more")
    for note in card["notes"]:
        yield _line("note", plain(note))
    yield from _evidence(card, cause)
    if card["advises"]:
        yield _line("advice", f"{card['advice'].replace('_', ' ')}: {plain(card['advises'])}")


def _circumstances(card: Answer) -> Iterator[str]:
    if card["exit"]:
        yield plain(card["exit"])
    if card["step"] is not None:
        yield f"at step {card['step']:,}"
    if card["phase"]:
        yield f"in phase {plain(card['phase'])}"


def _evidence(card: Answer, cause: Answer) -> Iterator[Text]:
    """Of a hang the stacks, the odd ones marked; else the last lines that the verdict rests on."""
    for group in card["stacks"]:
        mark = ", unlike the others" if group["odd"] else ""
        names = ", ".join(map(str, group["ranks"][:16]))
        yield _line("stack", f"of rank {names}{mark}")
        for line in group["lines"][:STACK_LINES]:
            yield Text(f"             {plain(line)}", style="dim")
    if not card["stacks"]:
        for line in cause["evidence"][-EVIDENCE_LINES:]:
            yield Text(f"             {plain(line)}", style="dim")


def _line(label: str, value: str) -> Text:
    return Text.assemble((f"  {label:<11}", "dim"), value)
