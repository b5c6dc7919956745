"""How long one plan takes, and one tick with nothing new. CPU time: the machine may be shared."""

import asyncio
import gc
import math
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from orchestrator.clock import SystemClock
from orchestrator.domain.capacity import Capacity
from orchestrator.domain.ids import ClusterId, JobId, SliceId
from orchestrator.domain.job import Desired, Job
from orchestrator.domain.lifecycle import JobState
from orchestrator.domain.program import Program
from orchestrator.domain.sharing import Project
from orchestrator.domain.spec import Band, JobSpec
from orchestrator.domain.topology import SliceRequest, SliceShape
from orchestrator.reconciler.decide import decide
from orchestrator.reconciler.loop import Leadership, Loop
from orchestrator.scheduler.plan import plan
from orchestrator.scheduler.snapshot import OfferedSlice, RunningGang, Snapshot, WaitingJob
from orchestrator.store import rows
from orchestrator.store.database import Database
from orchestrator.store.migrate import migrate
from orchestrator.store.schema import jobs
from tests.benchmarks.figure import Figure, at_most

_HOUR = 3_600_000
_NOW = 1_000 * _HOUR
_SHAPES = tuple(SliceShape.parse(text) for text in ("v5e:2x4", "v5e:4x4", "v5p:2x2x1", "v5e:8x8"))


def a_busy_fleet(waiting: int, slices: int = 1000, gangs: int = 500) -> Snapshot:
    """Four shapes in eight pools, half of the slices held, three bands, fifty projects, a third without estimates."""
    draw = random.Random(1)
    wants = [(SliceRequest(count, shape),) for shape in _SHAPES for count in (1, 1, 2, 4)]
    offered = [
        OfferedSlice(SliceId(f"s{i}"), ClusterId("c"), f"p{i % 8}", _SHAPES[i % 4], "spot", True) for i in range(slices)
    ]
    held = draw.sample(range(slices), gangs)
    running = [_gang(draw, number, offered[index]) for number, index in enumerate(held)]
    for index in held:
        offered[index] = offered[index]._replace(free=False)
    jobs = tuple(
        WaitingJob(
            id=JobId(f"j{i}"),
            choices=draw.choice(wants),
            capacity=Capacity.ANY,
            band=Band(i % 3),
            rank_in_band=0,
            submitted_at_ms=_NOW - draw.randrange(24 * _HOUR),
            project=f"project-{i % 50}",
            runtime_ms=draw.randrange(_HOUR // 60, 24 * _HOUR) if i % 3 else None,
        )
        for i in range(waiting)
    )
    projects = {f"project-{i}": Project(f"project-{i}", draw.random() * 1e12) for i in range(50)}
    return Snapshot(jobs, tuple(offered), tuple(running), _NOW, projects)


def _gang(draw: random.Random, number: int, on: OfferedSlice) -> RunningGang:
    return RunningGang(
        job_id=JobId(f"g{number}"),
        slices=(on.id,),
        chips=on.shape.chips,
        band=Band(number % 3),
        started_at_ms=_NOW - draw.randrange(5 * _HOUR),
        project=f"project-{number % 20}",
        ends_at_ms=_NOW + draw.randrange(1, 24 * _HOUR),
    )


def plan_ms(waiting: int, repeats: int = 5) -> float:
    """The fastest of some plans, CPU milliseconds; the collector is off, as `timeit` has it."""
    snapshot = a_busy_fleet(waiting)
    gc.collect()
    gc.disable()
    try:
        return min(_timed(snapshot) for _ in range(repeats)) * 1000
    finally:
        gc.enable()


def _timed(snapshot: Snapshot) -> float:
    began = time.process_time()
    plan(snapshot)
    return time.process_time() - began


def idle_step_ms(waiting: int, repeats: int = 20) -> float:
    """The median step of the loop when the revision has not moved, with so many jobs in an SQLite file, wall time."""
    return asyncio.run(_idle_step_ms(waiting, repeats))


async def _idle_step_ms(waiting: int, repeats: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite+aiosqlite:///{Path(folder) / 'bench.db'}")
        await migrate(database)
        spec = JobSpec("bench", Program(command=("true",)), "v5e:2x4")
        async with database.write() as tx:
            await tx.put(jobs, [rows.new_job_row(_queued(spec, n)) for n in range(waiting)])
        clock = SystemClock()
        leading = Leadership(database, clock, "bench", 5_000)
        await leading.beat()
        ids = (f"id_{n}" for n in range(10**9))
        loop = Loop(database, clock, decide, lambda _prefix: next(ids), leading)
        await loop.step()  # decides: every job is told why it waits
        await loop.step()
        spans = []
        for _ in range(repeats):
            began = time.perf_counter()
            assert await loop.step() is None, "there was something to decide"
            spans.append(time.perf_counter() - began)
        await database.close()
    return sorted(spans)[repeats // 2] * 1000


def _queued(spec: JobSpec, number: int) -> Job:
    return Job(JobId(f"job_{number}"), spec, JobState.QUEUED, Desired.RUN, 1, created_at_ms=number, queued_at_ms=number)


def figures() -> Iterator[Figure]:
    how = "CPU time, fastest of 5, 1,000 slices in 8 pools, 500 running gangs, collector off"
    ten, hundred = plan_ms(10_000), plan_ms(100_000, repeats=3)
    yield at_most("plan/10000 jobs", ten, 100, "ms", how)
    growth = 10 * math.log(100_000) / math.log(10_000)
    yield at_most(
        "plan/growth to 100000 jobs", hundred / ten, growth, "times", f"{how}; n log n grows {growth:.1f} times"
    )
    yield at_most(
        "tick/nothing new", idle_step_ms(10_000), 5, "ms", "median of 20 steps, 10,000 waiting jobs in SQLite"
    )
