"""Lists as tables, from the API's answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from orchestrator.cli.remote.wording import STATE_COLOURS, moment, plain, size, span

Answer = Mapping[str, Any]


def columns(*names: str) -> Table:
    """An empty table in the house's style: no lines, long values folded."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def jobs_table(jobs: Sequence[Answer], now_ms: int) -> Table:
    table = columns("id", "name", "state", "slices", "attempts", "age", "why")
    for job in jobs:
        table.add_row(
            job["id"],
            job["name"],
            Text(job["state"], STATE_COLOURS.get(job["state"], "")),
            " or ".join(job["slices"]),
            str(job["attempts"]),
            span(max(0, now_ms - job["created_at_ms"])),
            plain(job["message"]),
        )
    return table


def checkpoints_table(checkpoints: Sequence[Answer]) -> Table:
    table = columns("step", "attempt", "state", "kept as", "size", "saved in", "went on in", "note")
    for saved in checkpoints:
        users = ", ".join(f"{user['job_id']}#{user['attempt']}" for user in saved["restored_into"])
        table.add_row(
            f"{saved['step']:,}",
            str(saved["attempt"]),
            saved["state"],
            "unfenced" if saved["unfenced"] else saved["kept"] or "",
            "" if saved["bytes"] is None else size(saved["bytes"]),
            "" if saved["save_ms"] is None else span(saved["save_ms"]),
            users,
            plain(saved["note"]),
        )
    return table


def artifacts_table(found: Sequence[Answer]) -> Table:
    table = columns("attempt", "rank", "path", "size", "changed", "state", "note")
    for one in found:
        table.add_row(
            str(one["attempt"]),
            str(one["rank"]),
            plain(one["path"]),
            "" if one["state"] == "skipped" else size(one["size"]),
            "" if one["state"] == "skipped" else moment(one["modified_at_ms"]),
            one["state"],
            plain(one["note"]),
        )
    return table


def events_table(events: Sequence[Answer]) -> Table:
    table = columns("time", "event", "what happened")
    for event in events:
        table.add_row(moment(event["at_ms"]), event["kind"], plain(event["message"]))
    return table


def slices_table(slices: Sequence[Answer]) -> Table:
    table = columns("slice", "shape", "hosts", "chips", "capacity", "state", "held by", "note")
    for known in slices:
        up = known["state"] == "up"
        table.add_row(
            known["id"],
            known["shape"],
            str(known["hosts"]),
            str(known["chips"]),
            known["capacity"],
            Text(known["state"], "green" if up else "red"),
            known["attempt_id"] or ("free" if up else ""),
            plain(known["message"] or known["suspicion"] or ""),
        )
    return table


def maintenance_table(declared: Sequence[Answer]) -> Table:
    table = columns("id", "target", "from", "until", "why", "declared by")
    for one in declared:
        table.add_row(
            one["id"],
            f"{one['target']} {plain(one['name'])}",
            moment(one["since_ms"]),
            moment(one["until_ms"]),
            plain(one["reason"]),
            plain(one["actor"]),
        )
    return table


def pools_table(pools: Sequence[Answer]) -> Table:
    table = columns("pool", "shape", "capacity", "slices", "up", "busy", "may have", "wished")
    for pool in pools:
        limits = pool["limits"]
        table.add_row(
            pool["name"],
            pool["shape"],
            pool["capacity"],
            str(pool["slices"]),
            str(pool["up"]),
            str(pool["busy"]),
            "" if limits is None else f"{limits['least']} to {limits['most']}",
            _wished(pool["wish"]),
        )
    return table


def _wished(wish: Answer | None) -> str:
    if wish is None:
        return ""
    if wish["ask"]:
        return f"{wish['ask']} more"
    return f"let go {', '.join(wish['let_go'])}" if wish["let_go"] else "nothing"
