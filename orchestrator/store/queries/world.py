"""What a tick reads, in one transaction."""

from typing import Any, Final

from sqlalchemy import Select, func, select

from orchestrator.domain.fleet import Limit
from orchestrator.domain.lifecycle import TERMINAL, JobState
from orchestrator.domain.sharing import Health
from orchestrator.scheduler.policy import DEFAULT
from orchestrator.store import rows
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import jobs as jobs_queries
from orchestrator.store.queries import maintenance, people, restrictions, sharing, strikes
from orchestrator.store.schema import attempts, clusters, facts, jobs, progress, slices
from orchestrator.world import World

_FACTS_AT_ONCE: Final = 1000
"""The oldest; what is left is read by the next tick, which follows at once."""


async def world(tx: ReadTx, now_ms: int, epoch: int) -> World:
    live = attempts.c.ended_at_ms.is_(None)
    open_jobs = select(jobs).where(jobs.c.state.not_in(sorted(TERMINAL))).order_by(jobs.c.row_id)
    reports = [rows.progress_of(row) for row in (await tx.ask(_live_progress())).mappings()]
    known = tuple(rows.slice_of(r) for r in (await tx.ask(select(slices).order_by(slices.c.id))).mappings())
    imposed = await restrictions.all_restrictions(tx)
    arrived = select(facts).order_by(facts.c.row_id).limit(_FACTS_AT_ONCE)
    unfinished = tuple(rows.job_of(row) for row in (await tx.ask(open_jobs)).mappings())
    awaited = {one.job for job in unfinished if job.state is JobState.BLOCKED for one in job.spec.after.each}
    running = tuple(
        rows.attempt_of(row)
        for row in (await tx.ask(select(attempts).where(live).order_by(attempts.c.ordered_at_ms))).mappings()
    )
    project_of = {str(job.id): job.spec.project for job in unfinished}
    return World(
        now_ms=now_ms,
        epoch=epoch,
        jobs=unfinished,
        attempts=running,
        progress={report.attempt_id: report for report in reports},
        slices=known,
        clusters=tuple(rows.cluster_of(r) for r in (await tx.ask(select(clusters).order_by(clusters.c.id))).mappings()),
        facts=tuple(rows.fact_of(row) for row in (await tx.ask(arrived)).mappings()),
        projects=await sharing.projects(tx, running, project_of, now_ms, DEFAULT.usage_half_life_ms),
        history=await sharing.history(tx),
        quotas=await people.all_quotas(tx),
        windows=maintenance.windows(await maintenance.planned(tx, now_ms), known),
        health=dict.fromkeys(await strikes.suspects(tx, now_ms), Health.SUSPECT)
        | {s.id: Health.QUARANTINED for s in known if any(one.covers(s.id, s.pool) for one in imposed)},
        draining=frozenset(
            s.id for s in known if any(one.limit is Limit.DRAINING and one.covers(s.id, s.pool) for one in imposed)
        ),
        ended=await jobs_queries.states_of(tx, awaited - {job.id for job in unfinished}),
    )


def _live_progress() -> Select[Any]:
    """What live attempts reported. As committed counts the job's newest step, whichever attempt's report told of it:
    those of an ended attempt may arrive after its end was decided on."""
    siblings, reported = attempts.alias(), progress.alias()
    of_job = reported.join(siblings, siblings.c.id == reported.c.attempt_id)
    same_job = siblings.c.job_id == attempts.c.job_id
    newest = select(func.max(reported.c.committed_step)).select_from(of_job).where(same_job)
    others = [column for column in progress.c if column.name != "committed_step"]
    return (
        select(*others, newest.correlate(attempts).scalar_subquery().label("committed_step"))
        .join(attempts, attempts.c.id == progress.c.attempt_id)
        .where(attempts.c.ended_at_ms.is_(None))
    )
