"""What the scheduler knows of the past: each project's recent use, and how long like jobs ran."""

from typing import Final

from sqlalchemy import func, literal_column, select

from orchestrator.domain.job import Attempt
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.sharing import Likeness, Project
from orchestrator.scheduler.estimate import likeness, remember
from orchestrator.scheduler.share import accrued, decayed
from orchestrator.store import specs
from orchestrator.store.database import ReadTx
from orchestrator.store.schema import attempts, jobs
from orchestrator.store.schema import projects as project_rows

_DAY_MS: Final = 86_400_000
_HALF_LIVES: Final = 6
"""Older use counts less than 1/64 and is left out."""
_RUNS: Final = 200
"""Newest finished jobs that are looked at for like ones."""


async def projects(
    tx: ReadTx, live: tuple[Attempt, ...], project_of: dict[str, str], now_ms: int, half_life_ms: int
) -> dict[str, Project]:
    """The decayed use of each project. Ended attempts are summed by day in SQL and decay from the middle of their day,
    which is at most a twentieth off for a half-life of a week; live ones are exact."""
    usage: dict[str, float] = {}
    day = attempts.c.ended_at_ms // literal_column(str(_DAY_MS))  # as text: PostgreSQL compares it when it groups
    spent = func.sum(attempts.c.chips * (attempts.c.ended_at_ms - attempts.c.ordered_at_ms))
    recent = attempts.c.ended_at_ms > now_ms - _HALF_LIVES * half_life_ms
    asked = select(jobs.c.project, day.label("day"), spent.label("chip_ms")).join(jobs, jobs.c.id == attempts.c.job_id)
    for row in (await tx.ask(asked.where(recent).group_by(jobs.c.project, day))).mappings():
        age_ms = max(0, now_ms - row["day"] * _DAY_MS - _DAY_MS // 2)
        left = decayed(float(row["chip_ms"]), age_ms, half_life_ms)
        usage[row["project"]] = usage.get(row["project"], 0.0) + left
    for attempt in live:
        if project := project_of.get(attempt.job_id):
            held = accrued(attempt.chips, max(0, now_ms - attempt.ordered_at_ms), half_life_ms)
            usage[project] = usage.get(project, 0.0) + held
    weights = {row.name: row.weight for row in await tx.ask(select(project_rows.c.name, project_rows.c.weight))}
    return {name: Project(name, usage.get(name, 0.0), weights.get(name, 1.0)) for name in {*usage, *weights}}


async def history(tx: ReadTx) -> dict[Likeness, tuple[int, ...]]:
    """How long the newest finished jobs held slices, all attempts together, by likeness."""
    newest = (
        select(jobs.c.row_id, jobs.c.id, jobs.c.spec)
        .where(jobs.c.state == JobState.SUCCEEDED.value)
        .order_by(jobs.c.row_id.desc())
        .limit(_RUNS)
        .subquery()
    )
    ran = func.sum(attempts.c.ended_at_ms - attempts.c.ordered_at_ms).label("ran_ms")
    asked = select(newest.c.spec, ran).join(newest, newest.c.id == attempts.c.job_id)
    found: dict[Likeness, tuple[int, ...]] = {}
    for row in (await tx.ask(asked.group_by(newest.c.row_id, newest.c.spec).order_by(newest.c.row_id))).mappings():
        remember(found, likeness(specs.read_spec(row["spec"])), int(row["ran_ms"]))
    return found
