"""`plan(snapshot)`: which waiting jobs start now, on which slices, what is kept for whom, and why the others wait."""

from dataclasses import dataclass, replace

from orchestrator.domain.ids import JobId, SliceId
from orchestrator.scheduler.fit import Misfit, Placement, place, reserve
from orchestrator.scheduler.order import in_order
from orchestrator.scheduler.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Start:
    """This job's gang goes onto these slices, whole."""

    job_id: JobId
    placement: Placement


@dataclass(frozen=True, slots=True)
class Reservation:
    """These slices are kept for this job, which is blocked; later jobs do not touch them."""

    job_id: JobId
    slices: tuple[SliceId, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Why this job does not start: one reason for each of its choices."""

    job_id: JobId
    reasons: tuple[Misfit, ...]

    @property
    def says(self) -> str:
        return "; or ".join(reason.says for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions as values."""

    starts: tuple[Start, ...]
    reservations: tuple[Reservation, ...]
    waits: tuple[Wait, ...]


def plan(snapshot: Snapshot) -> Plan:
    """Offer the slices to the waiting jobs, first come first. Pure and deterministic.

    A job that would fit if slices were free reserves them by name; a job that could never fit reserves nothing and
    blocks nobody.
    """
    slices = {offered.id: offered for offered in snapshot.slices}
    starts: list[Start] = []
    reservations: list[Reservation] = []
    waits: list[Wait] = []
    reserved: set[SliceId] = set()
    for job in in_order(snapshot.waiting):
        match place(job, tuple(slices.values()), reserved):
            case Placement() as placement:
                starts.append(Start(job.id, placement))
                slices |= {id: replace(slices[id], free=False) for id in placement.slices}
            case misfits:
                waits.append(Wait(job.id, misfits))
                if kept := reserve(job, tuple(slices.values()), reserved):
                    reservations.append(Reservation(job.id, kept))
                    reserved.update(kept)
    return Plan(tuple(starts), tuple(reservations), tuple(waits))
