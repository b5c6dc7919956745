"""Starting now, and keeping slices for the first blocked jobs: EASY backfill on named slices, with K reservations.

Mu'alem and Feitelson, "Utilization, predictability, workloads, and user runtime estimates" (2001), is the source of the
rule: a later job may start if, by the estimates, it does not delay the reservations of those before it.
"""

from dataclasses import dataclass

from orchestrator.domain.ids import JobId, SliceId
from orchestrator.domain.topology import SliceRequest
from orchestrator.scheduler.board import Board, Group, Option
from orchestrator.scheduler.policy import Backfill, Policy
from orchestrator.scheduler.quota import Meter, OverLimit
from orchestrator.scheduler.snapshot import WaitingJob


@dataclass(frozen=True, slots=True)
class Reservation:
    """These slices are kept for this job, which is blocked; later jobs use them only if they end before `at_ms`."""

    job_id: JobId
    slices: tuple[SliceId, ...]
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Spot:
    """A group on which a job fits now."""

    wants: SliceRequest
    group: Group


def find(job: WaitingJob, options: tuple[Option, ...], board: Board, meter: Meter | None) -> Spot | None:
    """The first choice that fits now and that no quota forbids; of several pools, the one left with the fewest free."""
    end_ms = board.end_ms(job)
    for wants, groups in options:
        fitting = [group for group in groups if group.fits(wants.count, end_ms)]
        if meter is not None:
            fitting = [g for g in fitting if meter.over_limit(job.project, g.pool, wants.chips) is None]
        if fitting:
            preferred = [group for group in fitting if group.capacity == fitting[0].capacity]
            return Spot(wants, min(preferred, key=lambda group: (len(group.sound), group.cluster_id, group.pool)))
    return None


def limits(job: WaitingJob, options: tuple[Option, ...], meter: Meter) -> tuple[OverLimit, ...]:
    """The quotas that forbid the job everywhere; none if one pool at least is allowed."""
    found: dict[OverLimit, None] = {}
    for wants, groups in options:
        for group in groups:
            if (over := meter.over_limit(job.project, group.pool, wants.chips)) is None:
                return ()
            found[over] = None
    return tuple(found)


def reserve(job: WaitingJob, options: tuple[Option, ...], board: Board, policy: Policy) -> Reservation | None:
    """Keep slices for a blocked job where it can start soonest, if that pool has a reservation left to give.

    Without it a stream of small jobs would starve a large one for ever.
    """
    runtime_ms = board.runtime_ms(job)
    best: tuple[int, Group, tuple[SliceId, ...]] | None = None
    for wants, groups in options:
        for group in groups:
            if group.reservations >= policy.reservations:
                continue
            found = group.earliest(wants.count, runtime_ms)
            if found is not None and (best is None or found[0] < best[0]):
                best = found[0], group, found[1]
    if best is None:
        return None
    at_ms, group, slices = best
    group.reservations += 1
    group.keep(slices, at_ms, runtime_ms)
    return Reservation(job.id, slices, at_ms)


def hold_back(options: tuple[Option, ...], policy: Policy) -> None:
    """Under a strict policy nobody passes a blocked job in the pools that it could use."""
    if policy.backfill is Backfill.NOBODY:
        for wants, groups in options:
            for group in groups:
                if group.up >= wants.count:
                    group.close()
