"""Builders of the scheduler's inputs, and short ways to ask what it decided."""

from dataclasses import replace
from typing import Any

from orchestrator.domain.capacity import Capacity
from orchestrator.domain.ids import ClusterId, JobId, SliceId
from orchestrator.domain.sharing import Health, Project, Window
from orchestrator.domain.spec import Band
from orchestrator.domain.topology import SliceRequest, SliceShape
from orchestrator.scheduler.plan import Plan, plan
from orchestrator.scheduler.policy import DEFAULT, Policy
from orchestrator.scheduler.snapshot import OfferedSlice, RunningGang, Snapshot, WaitingJob

NOW = 100 * 3_600_000
MINUTE, HOUR = 60_000, 3_600_000


def wants(id="a", slices="v5e:2x4", at=0, band=Band.NORMAL, rank=0, capacity=Capacity.ANY, **fields: Any) -> WaitingJob:
    choices = (slices,) if isinstance(slices, str) else slices
    parsed = tuple(SliceRequest.parse(text) for text in choices)
    return WaitingJob(JobId(id), parsed, capacity, band, rank, at, **fields)


def offer(
    id="s0", shape="v5e:2x4", pool="p", free=True, cluster="c", capacity="spot", health=Health.SOUND, out=()
) -> OfferedSlice:
    """`out` are maintenance windows: (since, until)."""
    windows = tuple(Window(*window) for window in out)
    return OfferedSlice(SliceId(id), ClusterId(cluster), pool, SliceShape.parse(shape), capacity, free, health, windows)


def runs(id="r", slices="s0", ends=None, band=Band.NORMAL, started=NOW - HOUR, chips=8, **fields: Any) -> RunningGang:
    """A gang that started an hour ago; `ends` is its estimate."""
    on = (slices,) if isinstance(slices, str) else slices
    held = tuple(SliceId(slice_id) for slice_id in on)
    return RunningGang(JobId(id), held, chips * len(held), band, started, ends_at_ms=ends, **fields)


def a_snapshot(*things, now=NOW, policy: Policy = DEFAULT, **fields: Any) -> Snapshot:
    """Of jobs, slices, gangs and projects in any order. Slices of the gangs are held."""
    gangs = tuple(thing for thing in things if isinstance(thing, RunningGang))
    held = {slice_id for gang in gangs for slice_id in gang.slices}
    slices = (thing for thing in things if isinstance(thing, OfferedSlice))
    projects = {thing.name: thing for thing in things if isinstance(thing, Project)}
    return Snapshot(
        waiting=tuple(thing for thing in things if isinstance(thing, WaitingJob)),
        slices=tuple(s._replace(free=False) if s.id in held else s for s in slices),
        running=gangs,
        now_ms=now,
        projects=projects,
        policy=policy,
        **fields,
    )


def planned(*things, **fields: Any) -> Plan:
    return plan(a_snapshot(*things, **fields))


def placed(decided: Plan) -> dict[str, tuple[str, ...]]:
    return {start.job_id: start.placement.slices for start in decided.starts}


def without_evictions(policy: Policy = DEFAULT) -> Policy:
    return replace(policy, evict=False)
