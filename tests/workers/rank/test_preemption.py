"""Notices: what is decided on one, and a program that does not use jax.distributed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workers.host import notice
from workers.rank.preemption import judge, time_left_s

A_PROGRAM = """
import os, signal
from workers import rank
print(rank.preempted(1), flush=True)
os.kill(os.getpid(), signal.SIGTERM)
print(rank.preempted(2))
"""


def test_a_program_that_did_not_join_is_never_told_to_save_and_ends_by_sigterm():
    done = subprocess.run(
        [sys.executable, "-c", A_PROGRAM],
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout.split()) == (-signal.SIGTERM, ["False"])


@pytest.mark.parametrize(
    ("left_s", "save_s", "pending", "saves"),
    [
        (30.0, 10.0, False, True),
        (30.0, 20.0, False, True),
        (30.0, 25.0, False, False),
        (30.0, 10.0, True, True),
        (30.0, 20.0, True, False),
        (0.0, 0.1, False, False),
        (1.0, None, False, True),
        (None, 1000.0, True, True),
    ],
)
def test_a_step_is_saved_if_the_longest_save_so_far_fits_the_time_left(left_s, save_s, pending, saves):
    decided, why = judge(left_s, save_s, pending)
    assert decided is saves
    assert why.startswith("it is saved: " if saves else "it is not saved: ")
    assert left_s is None or f"{left_s:.1f} s are left" in why


def test_the_agent_says_how_much_time_is_left(tmp_path):
    file = tmp_path / notice.FILE
    assert time_left_s(None) is None
    assert time_left_s(file) is None
    notice.write(tmp_path, grace_ms=30_000)
    assert 0 < time_left_s(file) <= 30
    notice.write(tmp_path, grace_ms=0)
    assert time_left_s(file) == 0
    file.write_text("{")
    assert time_left_s(file) is None
