"""Reading traces: CSV with one job per line, and the Standard Workload Format of the Parallel Workloads Archive.

CSV needs the columns `submit_s`, `chips`, `duration_s`; it may have `job_id`, `user`, `walltime_req_s` (the user's own
estimate), `workload` (several traces in one file), `project`, `slices` and `priority` as a spec writes them, `capacity`
(kinds joined by +, best first), `after` (the `job_id` of a job that has to end first), `think_s` (from that end to this
job's submission), `array` and `at_once` (at most so many jobs of the array are let in together).
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.capacity import Capacity


class BadTrace(Exception):
    """The trace cannot be read; the message names the line."""


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job of a trace. Times since the trace's start, in milliseconds."""

    id: str
    submit_ms: int
    chips: int
    duration_ms: int
    """On all its chips, without restarts."""
    user: str
    estimate_ms: int | None = None
    """The user's own."""
    slices: str | None = None
    priority: str = "normal/0"
    capacity: tuple[Capacity, ...] = (Capacity.ANY,)
    after: str | None = None
    """The id of a job that has to end first, in any way."""
    think_ms: int = 0
    """It is submitted this long after that end, or at `submit_ms` if that is later."""
    array: str | None = None
    at_once: int | None = None
    """Of the jobs of its array; None: all."""


def read_trace(path: Path, workload: str | None = None) -> tuple[TraceJob, ...]:
    """The jobs of a `.csv` or `.swf` file, by submit time; jobs of no chips or no time are left out.

    Raises:
        BadTrace: a line does not hold what it should, or no job is left.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        found = _swf(lines) if path.suffix.lower() == ".swf" else _csv(lines, workload)
        jobs = [job for job in found if job.chips > 0 and job.duration_ms > 0]
    if not jobs:
        raise BadTrace(f"{path.name} holds no job{f' of workload {workload}' if workload else ''}")
    return tuple(sorted(jobs, key=lambda job: job.submit_ms))


def _csv(lines: Iterable[str], workload: str | None) -> Iterator[TraceJob]:
    for number, row in enumerate(csv.DictReader(lines), start=2):
        if workload is not None and row.get("workload") != workload:
            continue
        try:
            yield _csv_job(row, number)
        except (KeyError, ValueError) as error:
            raise BadTrace(f"line {number}: {error!r}") from None


def _csv_job(row: Mapping[str, str], number: int) -> TraceJob:
    estimate = row.get("walltime_req_s")
    return TraceJob(
        id=row.get("job_id") or str(number),
        submit_ms=_ms(row["submit_s"]),
        chips=int(row["chips"]),
        duration_ms=_ms(row["duration_s"]),
        user=row.get("project") or row.get("user") or row.get("vc") or "nobody",
        estimate_ms=_ms(estimate) if estimate else None,
        slices=row.get("slices") or None,
        priority=row.get("priority") or "normal/0",
        capacity=tuple(Capacity(kind) for kind in (row.get("capacity") or "any").split("+")),
        after=row.get("after") or None,
        think_ms=_ms(row.get("think_s") or "0"),
        array=row.get("array") or None,
        at_once=int(row["at_once"]) if row.get("at_once") else None,
    )


def _swf(lines: Iterable[str]) -> Iterator[TraceJob]:
    """Fields of SWF 2.2: 1 job, 2 submit, 4 run time, 5 processors, 8 requested processors, 9 requested time, 12 user,
    17 the preceding job, 18 think time from its end.

    -1 stands for what is not known.
    """
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields or line.startswith(";"):
            continue
        try:
            known = [float(field) for field in fields]
            chips = known[4] if known[4] > 0 else known[7]
            yield TraceJob(
                id=fields[0],
                submit_ms=int(known[1] * 1000),
                chips=int(chips),
                duration_ms=int(known[3] * 1000),
                user=f"user-{int(known[11])}",
                estimate_ms=int(known[8] * 1000) if known[8] > 0 else None,
                after=str(int(known[16])) if known[16:] and known[16] > 0 else None,
                think_ms=int(max(0.0, known[17]) * 1000) if known[17:] else 0,
            )
        except (IndexError, ValueError) as error:
            raise BadTrace(f"line {number}: {error}") from None


def _ms(seconds: str) -> int:
    return round(float(seconds) * 1000)
