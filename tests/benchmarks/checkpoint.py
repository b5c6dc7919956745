"""The checkpoints' figures: one JSON line each. `make bench FIGURE=checkpoint`; a minute or two on two cores.

Storage is /dev/shm, so that no disk is measured. Ratios are of one run: numpy and Orbax take turns, best of three.
"""

import asyncio
import itertools
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from orchestrator.domain.ids import JobId
from orchestrator.domain.spec import CheckpointPolicy, KeepBest
from orchestrator.store.commands.checkpoints import sweep
from orchestrator.store.commands.jobs import submit
from orchestrator.store.database import Database
from orchestrator.store.migrate import migrate
from orchestrator.store.queries import checkpoints as registry
from orchestrator.store.schema import attempts, checkpoints, clusters, points
from tests.benchmarks.figure import Figure
from tests.builders import NOW, a_spec

GIB = 1 << 30
ARRAYS = 8
ROUNDS = 3
MANY = 10_000


def figures() -> Iterator[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="podwright-bench-", dir="/dev/shm"))
    try:
        yield from _state_figures(folder)
        yield from asyncio.run(_registry_figures(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _state_figures(folder: Path) -> Iterator[Figure]:
    import jax
    import numpy as np

    from workers.rank import manifest
    from workers.rank.checkpoint import Checkpoints
    from workers.rank.context import RankContext
    from workers.rank.manifest import Commit
    from workers.rank.progress import Reporter, Spool
    from workers.storage import open_storage

    arrays = {f"a{at}": np.full(GIB // ARRAYS // 4, at, np.float32) for at in range(ARRAYS)}
    state = jax.tree.map(jax.numpy.asarray, arrays)
    target = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding), state)
    root, spool = str(folder / "root"), folder / "spool"
    context = RankContext("job", "a", 1, 0, 1, "s", "0", "127.0.0.1:1", spool, checkpoint_root=root)
    checkpoints = Checkpoints(context, Reporter(Spool(spool), 0))

    def committed() -> list[dict[str, Any]]:
        records = map(json.loads, spool.read_text().splitlines())
        return [record for record in records if record.get("event") == "committed"]

    def orbax_saves(step: int) -> None:
        checkpoints.save(step, state, {"step": step}, 0)
        while len(committed()) < step:
            time.sleep(0.002)

    def numpy_saves(_: int) -> None:
        for name, array in arrays.items():
            np.save(folder / name, array)

    ours, plain = [], []
    for step in range(1, ROUNDS + 1):
        plain.append(_timed(numpy_saves, step))
        ours.append(_timed(orbax_saves, step))
        if step > 1:
            manifest.discard(open_storage(root), Commit(1, step - 1))
    saves = committed()
    checkpoints.close()
    how = f"1 GiB until committed {min(ours):.2f} s, checksums included; np.save {min(plain):.2f} s"
    yield _at_least("checkpoint.save_speed", min(plain) / min(ours), 0.9, "of numpy", how)

    blocked = min(save["blocked_ms"] for save in saves) / 60_000
    how = f"1 GiB, one save a minute: blocked for {[save['blocked_ms'] for save in saves]} ms"
    yield Figure("checkpoint.blocked", blocked, "of the time", "less than 0.01", blocked < 0.01, how)

    again = RankContext("job", "b", 2, 0, 1, "s", "0", "127.0.0.1:1", spool, checkpoint_root=root)
    begin = time.monotonic()
    resuming = Checkpoints(again, Reporter(Spool(spool), 0))
    proof_s = time.monotonic() - begin
    ours, plain = [], []
    for step in range(ROUNDS):
        plain.append(_timed(lambda _: [np.load(folder / f"{name}.npy") for name in arrays], step))
        ours.append(_timed(lambda _: jax.block_until_ready(resuming.restore(target).state), step))
    resuming.close()
    how = f"1 GiB {min(ours):.2f} s, np.load {min(plain):.2f} s; proving it intact before that took {proof_s:.2f} s"
    yield _at_least("checkpoint.restore_speed", min(plain) / min(ours), 0.9, "of numpy", how)


async def _registry_figures(folder: Path) -> list[Figure]:
    database = Database(f"sqlite+aiosqlite:///{folder / 'bench.db'}")
    await migrate(database)
    ids = (f"errand_{number}" for number in itertools.count())
    async with database.write() as tx:
        await tx.tell(insert(clusters).values(id="local", seen_at_ms=NOW, order_revision=1))
        spec = a_spec(checkpoint=CheckpointPolicy(keep_every=1000, keep_best=KeepBest("loss", 3)))
        await submit(tx, spec, JobId("job_1"), NOW)
        attempt = {"id": "att_1", "job_id": "job_1", "number": 1, "cluster_id": "local", "slices": "[]", "chips": 8}
        await tx.tell(insert(attempts).values(attempt | {"epoch": 1, "ordered_at_ms": NOW}))
        steps = [{"attempt_id": "att_1", "job_id": "job_1", "step": step, "at_ms": NOW} for step in range(1, MANY + 1)]
        await tx.tell(insert(checkpoints), [one | {"path": f"1/{one['step']}", "state": "committed"} for one in steps])
        loss = {"rank": 0, "series": "loss", "value": 1.0, "not_finite": None}
        await tx.tell(insert(points), [one | loss for one in steps])
    begin, cpu_begin = time.monotonic(), time.process_time()
    async with database.read() as tx:
        listed = len(await registry.registry(tx, JobId("job_1")))
    list_s = time.monotonic() - begin
    begin = time.monotonic()
    async with database.write() as tx:
        gone = await sweep(tx, lambda _: next(ids), NOW)
    sweep_s = time.monotonic() - begin
    cpu_s = time.process_time() - cpu_begin
    await database.close()
    how = f"{listed:,} steps listed with their metrics in {list_s:.2f} s, {gone:,} given to delete in {sweep_s:.2f} s; "
    how += f"{cpu_s:.2f} s of CPU"
    seconds = list_s + sweep_s
    return [Figure("checkpoint.registry", seconds, "s", "less than 1", seconds < 1, how)]


def _timed(work: Callable[[int], object], number: int) -> float:
    begin = time.monotonic()
    work(number)
    return time.monotonic() - begin


def _at_least(figure: str, value: float, limit: float, unit: str, how: str) -> Figure:
    return Figure(figure, value, unit, f"at least {limit:g}", value >= limit, how)


def main() -> int:
    missed = 0
    for figure in figures():
        print(figure.line(), flush=True)
        missed += not figure.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
