"""What a project used: chip time, and how its jobs are."""

from dataclasses import dataclass

from sqlalchemy import and_, case, func, literal, select

from orchestrator.store.database import ReadTx
from orchestrator.store.schema import attempts, jobs


@dataclass(frozen=True, slots=True)
class Usage:
    """Of a span of time. Allocated: from the order of an attempt to the end of its last process."""

    chip_ms: int
    attempts: int
    chips_now: int
    jobs: dict[str, int]
    """By state, as they are now."""


async def usage(tx: ReadTx, project: str, since_ms: int, until_ms: int, now_ms: int) -> Usage:
    ended = func.coalesce(attempts.c.ended_at_ms, literal(now_ms))
    began = case((attempts.c.ordered_at_ms < since_ms, since_ms), else_=attempts.c.ordered_at_ms)
    over = case((ended > until_ms, until_ms), else_=ended)
    mine = and_(jobs.c.id == attempts.c.job_id, jobs.c.project == project)
    live = case((attempts.c.ended_at_ms.is_(None), attempts.c.chips), else_=0)
    within = and_(attempts.c.ordered_at_ms < until_ms, ended > since_ms)
    chip_ms = func.sum(attempts.c.chips * (over - began))
    spent = (
        await tx.ask(
            select(chip_ms.label("chip_ms"), func.count().label("attempts"))
            .select_from(attempts.join(jobs, mine))
            .where(within)
        )
    ).one()
    holds = (await tx.ask(select(func.sum(live)).select_from(attempts.join(jobs, mine)))).scalar_one()
    states = await tx.ask(
        select(jobs.c.state, func.count().label("jobs")).where(jobs.c.project == project).group_by(jobs.c.state)
    )
    return Usage(
        int(spent.chip_ms or 0), int(spent.attempts), int(holds or 0), {row.state: int(row.jobs) for row in states}
    )
