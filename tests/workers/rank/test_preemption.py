"""A notice in a program that does not use jax.distributed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

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
