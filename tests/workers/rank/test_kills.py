"""The kill matrix: SIGKILL at every phase of a save and of a resume; what goes on is always the last commit.

Each attempt of a chain resumes from what the one before left, and is then killed itself: one process per point.
`make chaos` kills at random moments, hundreds of times.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time

import pytest

from workers.rank import failpoints, latest, manifest
from workers.rank.manifest import Commit
from workers.storage import open_storage

RANDOM_KILLS = int(os.environ.get("PODWRIGHT_CHAOS", "4"))
pytestmark = pytest.mark.timeout(max(600, 10 * RANDOM_KILLS))
DAMAGE_FIRST = ("rewind.after", "quarantine.after")
"""Points that only an attempt passes which finds the newest step damaged."""
NO_SAVE = ("claim.before", "claim.after", *DAMAGE_FIRST, "restore.before", "restore.after")
RACING = ("save.before", "save.taken")
"""Points of the loop, which goes on while the save before is being committed."""
COMMITTED = ("latest.after", "report.after")
DISCARD = ("discard.unmarked", "discard.after")
"""Points of deleting a step, which no attempt does: a cluster process does, while attempts run."""


def newest(address):
    found = latest.read(open_storage(address))
    return found.step or 0 if found else 0


def resumed(forks):
    """The step from which the last attempt went on; None when it did not get so far."""
    told = [record["step"] for record in forks.records() if record["event"] in ("restored", "fresh")]
    return told[0] if told else None


def damage(address):
    """Take a byte from a file of the newest commit."""
    root = open_storage(address)
    stored = max(root.tree(latest.read(root).path), key=lambda one: one.size)
    root.write(stored.path, root.read(stored.path)[:-1])


def test_killed_at_every_point_it_goes_on_from_the_last_commit(chain):
    forks, address = chain
    forks.start(address, saves=3)
    assert forks.ended() == 0, forks.output()
    matrix, expected = [], 3
    for point in (point for point in failpoints.POINTS if point not in DISCARD):
        if point in DAMAGE_FIRST:
            damage(address)
        before = manifest.commits(open_storage(address), 1000)
        # The second save of an attempt: the first is behind it, and the one before belongs to another attempt.
        forks.start(address, saves=2, failpoint=point if point in NO_SAVE else f"{point}:2")
        assert forks.ended() == -signal.SIGKILL, (point, forks.output())
        if point in DAMAGE_FIRST:
            expected = next(commit.step for commit in before if commit.step < expected)
        if point in RACING:
            assert newest(address) - expected in (0, 1)
            expected = newest(address)
        elif point not in NO_SAVE:
            expected += 2 if point in COMMITTED else 1
        assert newest(address) == expected, point

        forks.start(address, saves=1)
        assert forks.ended() == 0, (point, forks.output())
        matrix.append((point, resumed(forks), expected - resumed(forks)))
        expected += 1
    print("\nkilled at           resumed step  lost commits")
    print("\n".join(f"{point:<18}  {step:>12}  {lost:>12}" for point, step, lost in matrix))
    assert [lost for *_, lost in matrix] == [0] * len(matrix)


@pytest.mark.parametrize("point", DISCARD)
def test_killed_while_a_step_is_deleted_nothing_else_is_lost(chain, point):
    forks, address = chain
    forks.start(address, saves=3)
    assert forks.ended() == 0, forks.output()
    forks.start(address, saves=0, failpoint=point, discard="1/1")
    assert forks.ended() == -signal.SIGKILL, forks.output()
    root = open_storage(address)
    assert [commit.path for commit in manifest.commits(root, 9)] == ["1/3", "1/2"]
    forks.start(address, saves=0, discard="1/1")
    assert forks.ended() == 0, forks.output()
    assert root.tree("1/1") == ()
    assert manifest.choose(root, latest.read(root)) == (Commit(1, 3), ())


@pytest.mark.long
def test_killed_at_random_moments_it_goes_on_from_the_last_commit(chain):
    forks, address = chain
    seed = int(os.environ.get("PODWRIGHT_SEED", "7"))
    moments, longest_s = random.Random(seed), 2.5 if address.startswith("/") else 8.0
    committed = 0
    for kill in range(RANDOM_KILLS):
        pid = forks.start(address, saves=20)
        time.sleep(moments.uniform(0.2, longest_s))
        with contextlib.suppress(ProcessLookupError):  # it was through before its moment came
            os.kill(pid, signal.SIGKILL)
        assert forks.ended() in (0, -signal.SIGKILL), (seed, kill, forks.output())
        assert resumed(forks) in (None, committed), (seed, kill)
        assert newest(address) >= committed, (seed, kill)
        reported = [record["step"] for record in forks.records() if record["event"] == "committed"]
        # What was reported is committed; the last commit may not have been reported any more.
        assert newest(address) - max(reported, default=committed) in (0, 1), (seed, kill)
        committed = newest(address)
    forks.start(address, saves=1)
    assert forks.ended() == 0, forks.output()
    assert resumed(forks) == committed
    print(f"\n{RANDOM_KILLS} random kills (seed {seed}): {committed} steps committed, lost commits = 0")
