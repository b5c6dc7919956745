"""A notice in a program that does not use jax.distributed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

A_PROGRAM = """
import os, signal
from workers.rank import preemption
preemption.listen()
print(preemption.reached(1))
os.kill(os.getpid(), signal.SIGTERM)
print(preemption.reached(2), preemption.reached(3))
"""


def test_sigterm_is_kept_until_a_step_asks():
    done = subprocess.run(
        [sys.executable, "-c", A_PROGRAM],
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != -signal.SIGTERM
    assert done.stdout.split() == ["False", "True", "True"]
