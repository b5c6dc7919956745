"""Attempts that save and restore with real Orbax, as processes that can be killed, for the price of a fork each.

`python -m tests.workers.rank.forks` imports JAX and Orbax once, starts no backend, and forks a process for each line
of JSON on its input: `{"root": …, "attempt": …, "saves": …, "failpoint": …, "spool": …}`. It answers with the process
id, then with its exit code. Importing takes 5 s of this machine, a forked attempt half a second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[3]
VALUES = 50_000
"""In each of the two arrays of a state: 400 kB a step."""


@dataclass
class Forks:
    """The process that forks, seen from a test."""

    process: subprocess.Popen[str]
    folder: Path
    """Of the test at hand: the attempts' spools are written there."""
    log: Path
    attempt: int = 0

    def start(self, root: str, saves: int, failpoint: str | None = None, **more: Any) -> int:
        """Start the next attempt; its process id. Await it with `ended`."""
        self.attempt += 1
        order = {"root": root, "attempt": self.attempt, "saves": saves, "failpoint": failpoint} | more
        order["spool"] = str(self.folder / f"spool-{self.attempt}")
        assert self.process.stdin
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def ended(self) -> int:
        """Its exit code, negative for a signal."""
        return self._answer()

    def records(self, kind: str = "checkpoint") -> list[dict[str, Any]]:
        """What the last attempt reported."""
        spool = self.folder / f"spool-{self.attempt}"
        lines = spool.read_text().splitlines() if spool.exists() else []
        return [record for record in map(json.loads, lines) if record["type"] == kind]

    def output(self) -> str:
        return self.log.read_text()[-3000:]

    def _answer(self) -> int:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.output()
        return int(line)


@contextmanager
def forking(folder: Path, variables: Mapping[str, str]) -> Iterator[Forks]:
    folder.mkdir(parents=True, exist_ok=True)
    environment = (
        os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "ignore"} | variables
    )
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.workers.rank.forks"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, cwd=REPOSITORY, env=environment, text=True,
        )  # fmt: skip
    try:
        yield Forks(process, folder, folder / "output")
    finally:
        assert process.stdin
        process.stdin.close()
        process.kill()
        process.wait()


def _serve() -> None:
    import jax  # noqa: F401

    if "STORAGE_EMULATOR_HOST" in os.environ:
        os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"  # as workers.rank.orbax sets it, before this import
        import gcsfs  # noqa: F401
        import google.cloud.storage  # noqa: F401
    import orbax.checkpoint  # noqa: F401

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        order = json.loads(line)
        gang = []
        for rank in range(order.get("rank_count", 1)):
            gang.append(os.fork())
            if gang[-1] == 0:
                _attempt(order, rank)
                os._exit(0)
        print(gang[0], file=answers, flush=True)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in gang]
        print(next((code for code in codes if code), 0), file=answers, flush=True)


def _attempt(order: dict[str, Any], rank: int) -> None:
    from workers.rank.context import RankContext
    from workers.rank.failure import end_failed
    from workers.rank.progress import Reporter, Spool

    if order["failpoint"]:
        os.environ["PODWRIGHT_FAILPOINT"] = order["failpoint"]
    number = order["attempt"]
    spool = Path(order["spool"] + (f"-{rank}" if rank else ""))
    context = RankContext(
        "job", f"a{number}", number, rank, order.get("rank_count", 1), "slice", str(rank),
        order.get("coordinator", "127.0.0.1:1"), spool, checkpoint_root=order["root"],
        committed_step=order.get("committed_step"), checkpoint_origin=order.get("origin"),
        save_deadline_ms=order.get("save_deadline_ms"),
    )  # fmt: skip
    reporter = Reporter(Spool(spool), rank)
    try:
        if order.get("discard"):
            from workers.rank import manifest
            from workers.storage import open_storage

            manifest.discard(open_storage(order["root"]), manifest.Commit.at(order["discard"]))
            return
        _save_some(context, reporter, order["saves"])
    except BaseException as error:  # noqa: BLE001  # as `run_builtin` does
        end_failed(error, reporter)


def _save_some(context: Any, reporter: Any, saves: int) -> None:
    """Restore what there is, compare it bit for bit with what was saved, and save more."""
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from workers.rank import distributed
    from workers.rank.checkpoint import Checkpoints

    jax.config.update("jax_enable_x64", True)
    if context.rank_count > 1:
        jax.config.update("jax_num_cpu_devices", 2)
        distributed.initialize(context, reporter)
    spread = NamedSharding(Mesh(np.array(jax.devices()), ("all",)), PartitionSpec("all"))

    def whole(step: int) -> dict[str, Any]:
        return {name: np.arange(VALUES) / 7 + step + at for at, name in enumerate(("a", "b"))}

    def state(step: int) -> dict[str, Any]:
        return {
            name: jax.make_array_from_callback((VALUES,), spread, lambda index, values=values: values[index])
            for name, values in whole(step).items()
        }

    checkpoints = Checkpoints(context, reporter)
    begin = checkpoints.restorable_step or 0
    if begin:
        target = {name: jax.ShapeDtypeStruct((VALUES,), np.float64, sharding=spread) for name in ("a", "b")}
        restored = checkpoints.restore(target)
        assert restored.position == {"step": begin}
        for name, values in whole(begin).items():
            assert restored.state[name].sharding == spread
            for shard in restored.state[name].addressable_shards:
                assert np.asarray(shard.data).tobytes() == values[shard.index].tobytes(), (name, shard.index)
    for step in range(begin + 1, begin + 1 + saves):
        checkpoints.save(step, state(step), {"step": step}, reporter.now_ms())
    checkpoints.close()
    if context.rank_count > 1:
        distributed.leave()


if __name__ == "__main__":
    _serve()
