"""A supervisor that cannot lead must not live on: it would answer, and hold its slice for ever."""

import os
import subprocess
import sys

A_SUPERVISOR = """
import time
from workers.slice import supervisor
from workers.slice.messages import SLICE_PLAN, SlicePlan

def reserve(plan):
    raise KeyError("not an error of Ray")

supervisor.reserve = reserve
plan = SlicePlan("s", "1", "build", "pool", "v5e:4x4", "spot", 2, 4, True, "", "http://127.0.0.1:1")
supervisor.Supervisor(SLICE_PLAN.dump_json(plan).decode())
time.sleep(60)
"""


def test_whatever_the_reservation_fails_with_ends_the_supervisor() -> None:
    done = subprocess.run([sys.executable, "-c", A_SUPERVISOR], env=os.environ, capture_output=True, timeout=50)
    assert done.returncode == 1
    assert b"not an error of Ray" in done.stderr
