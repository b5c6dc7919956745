"""Clusters, slices, and what each cluster is ordered to run."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import select

from orchestrator.domain.ids import AttemptId, ClusterId, SliceId
from orchestrator.domain.job import Attempt, Cluster, Job, Slice
from orchestrator.store import rows
from orchestrator.store.database import ReadTx
from orchestrator.store.queries import errands, secrets
from orchestrator.store.queries.errands import Errand
from orchestrator.store.schema import attempts, clusters, jobs, leases, placements, slices


@dataclass(frozen=True, slots=True)
class Standing:
    """All that one cluster's orders are made of."""

    revision: int
    epoch: int
    runs: tuple[tuple[Job, Attempt], ...]
    """Its live attempts, oldest first, each with its job."""
    sealed: Mapping[tuple[str, str], str]
    """The secrets that they name, by project and name."""
    errands: tuple[Errand, ...] = ()
    """What it shall do to checkpoints and has not reported, oldest first."""


async def all_slices(tx: ReadTx) -> tuple[Slice, ...]:
    found = await tx.ask(select(slices).order_by(slices.c.id))
    return tuple(rows.slice_of(row) for row in found.mappings())


async def holders(tx: ReadTx, seen_by: Collection[str] | None = None) -> dict[SliceId, AttemptId]:
    """The live attempt on each slice that has one; of the jobs of the projects `seen_by` (None: all)."""
    asked = select(placements.c.slice_id, placements.c.attempt_id)
    if seen_by is not None:
        asked = (
            asked.join(attempts, attempts.c.id == placements.c.attempt_id)
            .join(jobs, jobs.c.id == attempts.c.job_id)
            .where(jobs.c.project.in_(seen_by))
        )
    found = await tx.ask(asked)
    return {SliceId(row.slice_id): AttemptId(row.attempt_id) for row in found}


async def all_clusters(tx: ReadTx) -> tuple[Cluster, ...]:
    found = await tx.ask(select(clusters).order_by(clusters.c.id))
    return tuple(rows.cluster_of(row) for row in found.mappings())


async def order_revision(tx: ReadTx, cluster_id: ClusterId) -> int:
    return int((await tx.ask(select(clusters.c.order_revision).where(clusters.c.id == cluster_id))).scalar_one())


async def standing(tx: ReadTx, cluster_id: ClusterId) -> Standing:
    mine = (attempts.c.cluster_id == cluster_id) & attempts.c.ended_at_ms.is_(None)
    live = [
        rows.attempt_of(row)
        for row in (
            await tx.ask(select(attempts).where(mine).order_by(attempts.c.ordered_at_ms, attempts.c.id))
        ).mappings()
    ]
    theirs = select(jobs).join(attempts, attempts.c.job_id == jobs.c.id).where(mine)
    by_id = {row["id"]: rows.job_of(row) for row in (await tx.ask(theirs)).mappings()}
    epoch = (await tx.ask(select(leases.c.epoch))).scalar_one_or_none() or 0
    runs = tuple((by_id[attempt.job_id], attempt) for attempt in live)
    wanted = {(job.spec.project, name) for job, _ in runs for name in job.spec.secrets}
    sealed, open_errands = await secrets.sealed(tx, wanted), await errands.open_of(tx, cluster_id)
    return Standing(await order_revision(tx, cluster_id), int(epoch), runs, sealed, open_errands)
