"""Hundreds of random faults over the real store, tick and protocol: nothing is lost, doubled or wrongly blamed."""

from pathlib import Path

import pytest

from tests.simulation.chaos import Chaos, Outcome

pytestmark = pytest.mark.anyio
SEEDS = (11,)
FAULTS = 200


async def test_chaos_loses_nothing_and_blames_nobody_wrongly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    came_to = Outcome()
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        folder.mkdir()
        chaos = Chaos(seed, folder)
        await chaos.run(troubled_steps=150)  # checks the invariants after every tick
        await chaos.control.begin("afterwards")
        await chaos.outcome(came_to)
        await chaos.control.crash()
    with capsys.disabled():
        print(f"\n{came_to.summary()}")
    assert came_to.lost_jobs == []
    assert came_to.doubled_runs == []
    assert came_to.lost_steps == []
    assert came_to.wrong_causes == []
    assert sum(came_to.faults.values()) >= FAULTS
    kinds = {"hang", "notice", "network cut", "lost hosts", "lost supervisors", "host out of memory", "rank killed"}
    assert kinds <= came_to.faults.keys()
