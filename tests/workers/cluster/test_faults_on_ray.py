"""Faults of real ranks on a real Ray cluster, and the verdict on each: the labels come from evidence, never from us."""

import sys
from dataclasses import replace

import pytest

from orchestrator.domain.endings import Reason
from orchestrator.domain.incident import Cause
from orchestrator.domain.patience import Patience, limits_of
from orchestrator.incidents.card import with_card
from orchestrator.incidents.verdict import judge
from orchestrator.protocol import FactBody, GangEnded, RunOrder
from tests.workers.cluster.rig import Rig, an_order

pytestmark = pytest.mark.ray

SLICE = "emulated-v5e-0"
LIMITS = limits_of(Patience(init="5s", step="4s"), hosts=2, builtin=False)
RANK = "import os, sys, time, signal; rank = int(os.environ['PODWRIGHT_RANK'])\n"
STEPS = (
    "def say(step):\n"
    "  with open(os.environ['PODWRIGHT_SPOOL'], 'a') as spool:\n"
    '    spool.write(\'{"type": "progress", "step": %d}\\n\' % step)\n'
    "for step in range(5): say(step); time.sleep(0.7)\n"
)
MEET = (
    "import socket; host, port = os.environ['PODWRIGHT_COORDINATOR'].split(':')\n"
    "def meet():\n"
    "  if rank == 0: here = socket.create_server((host, int(port))); here.accept()\n"
    "  else: socket.create_connection((host, int(port)))\n"
    "  time.sleep(600)\n"
)
FAULTS = {
    "stopped": (
        STEPS + "if rank == 1: os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(600)",
        (Reason.STALLED, 1),
        "rank 1 on emulated-v5e-0/1 was stopped, as by SIGSTOP",
    ),
    "never joins": (
        MEET + "def busy(): time.sleep(600)\nbusy() if rank == 1 else meet()",
        (Reason.INIT_TIMEOUT, 1),
        "stood in busy (",
    ),
    "host memory": (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "if rank == 0: time.sleep(600)\nheld = [bytearray(2**28) for _ in range(9)]",
        (Reason.HOST_OOM, 1),
        "exited with code 1: MemoryError",
    ),
    "killed": (
        "if rank == 0: os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(600)",
        (Reason.PROGRAM_ERROR, 0),
        "was killed by SIGKILL (killed)",
    ),
    "a port of its own": (
        "import socket; s = socket.create_server(('127.0.0.1', 0))\n"
        "if rank == 0: socket.create_server(s.getsockname())\ntime.sleep(600)",
        (Reason.PROGRAM_ERROR, 0),
        "Address already in use",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_the_right_rank_blamed(rig: Rig, fault: str) -> None:
    program, blamed, words = FAULTS[fault]
    rig.wait_for_slice(SLICE)
    name = fault.replace(" ", "-")
    rig.plane.order(patient(an_order(name, SLICE, sys.executable, "-c", RANK + program)))
    cause = cause_of(rig, name)
    assert (cause.reason, cause.rank) == blamed
    assert words in cause.sentence
    assert cause.card is not None
    assert cause.card.detect_ms is not None
    assert [one.rank for one in cause.card.collateral] == [1 - blamed[1]]


def patient(order: RunOrder) -> RunOrder:
    return replace(order, limits=LIMITS)


def cause_of(rig: Rig, attempt_id: str) -> Cause:
    def look(body: FactBody) -> GangEnded | None:
        return body if isinstance(body, GangEnded) and body.attempt_id == attempt_id else None

    found = rig.plane.wait_for(look, f"{attempt_id} ended")
    rig.plane.withdraw(attempt_id)
    cause = judge(found.trouble, found.message, found.exits, None, launched=True, overdue=found.overdue)
    cause = with_card(cause, found.exits, found.detected_at_ms, found.last_sign_at_ms, found.overdue)
    print(f"{attempt_id}: {cause.reason}, detected after {cause.card and cause.card.detect_ms} ms: {cause.sentence}")
    return cause
