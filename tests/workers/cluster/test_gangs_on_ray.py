"""Whole gangs on a real Ray cluster of emulated hosts: completion, first failure, lost hosts, a killed driver."""

import os
import signal
import sys

import psutil
import pytest

from orchestrator.domain.endings import Reason
from orchestrator.incidents.verdict import judge
from orchestrator.protocol import FactBody, GangEnded, GangReady, SliceDown, SliceUp, StopOrder
from tests.emulated import until
from tests.workers.cluster.rig import Rig, an_order
from workers.host.drill import kill_host, kill_raylet_only

pytestmark = pytest.mark.ray

FIRST, SECOND = "emulated-v5e-0", "emulated-v5e-1"
SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


def ended(rig: Rig, attempt_id: str) -> GangEnded:
    def look(body: FactBody) -> GangEnded | None:
        return body if isinstance(body, GangEnded) and body.attempt_id == attempt_id else None

    found = rig.plane.wait_for(look, f"{attempt_id} ended")
    rig.plane.withdraw(attempt_id)
    return found


def pids(rig: Rig, attempt_id: str) -> list[int]:
    def look(body: FactBody) -> list[int] | None:
        ready = isinstance(body, GangReady) and body.attempt_id == attempt_id
        return [rank.pid for rank in body.ranks] if ready and isinstance(body, GangReady) else None

    return rig.plane.wait_for(look, f"{attempt_id} is ready")


def test_a_gang_that_exits_0_is_completed_with_all_its_bytes(rig: Rig) -> None:
    rig.wait_for_slice(FIRST)
    code = (
        "import json, os, sys; rank = os.environ['PODWRIGHT_RANK']\n"
        "print('rank', rank, 'of', os.environ['PODWRIGHT_RANK_COUNT']); sys.stderr.buffer.write(b'\\xff\\n')\n"
        "open(os.environ['PODWRIGHT_SPOOL'], 'a').write(json.dumps({'type': 'progress', 'step': 7}) + '\\n')"
    )
    rig.plane.order(an_order("whole", FIRST, "python", "-c", code))
    found = ended(rig, "whole")
    assert found.trouble is None
    assert [(rank.exit_code, rank.last_step, rank.ordered) for rank in found.exits] == [(0, 7, False)] * 2
    for rank in range(2):
        assert rig.plane.stream("whole", rank, "stdout") == f"rank {rank} of 2\n".encode()
        assert rig.plane.stream("whole", rank, "stderr") == b"\xff\n"
        assert rig.plane.stream("whole", rank, "spool") == b'{"type": "progress", "step": 7}\n'


def test_the_first_failure_ends_the_others_which_are_collateral(rig: Rig) -> None:
    rig.wait_for_slice(FIRST)
    code = "import os, sys, time; os.environ['PODWRIGHT_RANK'] == '1' and sys.exit('boom'); time.sleep(600)"
    rig.plane.order(an_order("broken", FIRST, sys.executable, "-c", code))
    first, second = ended(rig, "broken").exits
    assert (second.exit_code, second.ordered, second.stderr_tail) == (1, False, ("boom",))
    assert (first.signal, first.ordered) == (signal.SIGKILL, True)


def test_a_stubborn_gang_is_gone_after_its_grace(rig: Rig) -> None:
    rig.wait_for_slice(FIRST)
    code = (
        "import os, signal, time; signal.signal(15, 1); os.fork() or os.setsid(); print(1, flush=True); time.sleep(99)"
    )
    rig.plane.order(an_order("stubborn", FIRST, sys.executable, "-c", code))
    until(lambda: rig.plane.stream("stubborn", 1, "stdout") or None, "it runs")
    rig.plane.order(an_order("stubborn", FIRST, sys.executable, "-c", code, stop=StopOrder("cancelled", 500)))
    found = ended(rig, "stubborn")
    assert found.trouble == "cancelled"
    assert all(rank.ordered and rank.signal == signal.SIGKILL for rank in found.exits)
    assert not ranks_of("stubborn")


def test_a_killed_cluster_process_finds_the_gang_running_and_reports_its_end(rig: Rig) -> None:
    rig.wait_for_slice(FIRST)
    code = "import os, time\nwhile not os.path.exists(os.environ['GATE']): time.sleep(0.05)"
    gate = rig.state_dir / "gate"
    rig.plane.order(an_order("kept", FIRST, sys.executable, "-c", code, GATE=str(gate)))
    before = pids(rig, "kept")
    assert rig.cluster is not None
    rig.cluster.kill()
    rig.cluster.wait()
    rig.start_cluster_process()
    log = rig.state_dir / "cluster-process.log"
    until(lambda: f"slice {FIRST} has a supervisor already" in log.read_text() or None, "it is adopted")
    assert sorted(ranks_of("kept")) == sorted(before)
    ups = [fact.body for fact in rig.plane.facts if isinstance(fact.body, SliceUp) and fact.body.slice_id == FIRST]
    assert len({up.incarnation for up in ups}) == 1
    gate.touch()
    found = ended(rig, "kept")
    assert found.trouble is None
    assert all(rank.ok for rank in found.exits)


def test_reports_that_are_refused_end_the_attempt(rig: Rig) -> None:
    rig.wait_for_slice(FIRST)
    rig.plane.refused.add("old")
    rig.plane.order(an_order("old", FIRST, sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"))
    assert ended(rig, "old").trouble == "superseded"
    assert not ranks_of("old")


def test_a_host_whose_raylet_alone_dies_is_lost_and_its_slice_is_reserved_anew_once_it_is_back(rig: Rig) -> None:
    up = rig.wait_for_slice(FIRST)
    rig.plane.order(an_order("orphaned", FIRST, *SLEEP))
    pids(rig, "orphaned")
    kill_raylet_only(rig.host(FIRST, 1)["raylet_pid"])
    found = ended(rig, "orphaned")
    assert (found.trouble, found.last_sign_at_ms is not None) == (None, True)
    assert [(rank.rank, rank.lost, rank.ordered) for rank in found.exits] == [(0, False, True), (1, True, False)]
    assert not ranks_of("orphaned")
    rig.plane.wait_for(
        lambda body: (isinstance(body, SliceDown) and body.incarnation == up.incarnation) or None, "it is down"
    )
    assert rig.wait_for_slice(FIRST).incarnation != up.incarnation
    rig.plane.order(an_order("again", FIRST, "true"))
    assert all(rank.ok for rank in ended(rig, "again").exits)


def test_nothing_is_lost_while_the_control_plane_is_away(rig: Rig) -> None:
    rig.wait_for_slice(FIRST)
    gate = rig.state_dir / "away"
    code = "import os, time\nwhile not os.path.exists(os.environ['GATE']): time.sleep(0.05)\nprint('last words')"
    rig.plane.order(an_order("unheard", FIRST, sys.executable, "-c", code, GATE=str(gate)))
    running = pids(rig, "unheard")
    rig.plane.away = True
    gate.touch()
    until(lambda: not any(map(psutil.pid_exists, running)) or None, "the ranks ended")
    rig.plane.away = False
    assert all(rank.ok for rank in ended(rig, "unheard").exits)
    assert rig.plane.stream("unheard", 0, "stdout") == b"last words\n"


def test_a_frozen_host_is_lost_and_its_rank_ends_when_it_thaws(rig: Rig) -> None:
    rig.wait_for_slice(FIRST)
    rig.plane.order(an_order("frozen", FIRST, *SLEEP))
    process = psutil.Process(pids(rig, "frozen")[1])
    frozen = [process, *process.parents()[:2]]  # rank, shim and agent
    for process in frozen:
        process.suspend()
    found = ended(rig, "frozen")
    assert [rank.lost for rank in found.exits] == [False, True]
    for process in frozen:
        if process.is_running():
            process.resume()
    until(lambda: not ranks_of("frozen") or None, "its rank is gone", 5)


def test_host_0_takes_the_supervisor_with_it_and_the_slice_is_lost(rig: Rig) -> None:
    up = rig.wait_for_slice(SECOND)
    rig.plane.order(an_order("headless", SECOND, *SLEEP))
    pids(rig, "headless")
    kill_host(rig.host(SECOND, 0)["raylet_pid"])
    found = ended(rig, "headless")
    # Rank 0 is named if Ray knows by then that the node died, and not only the actor; the verdict is the same.
    assert {(rank.rank, rank.lost) for rank in found.exits} <= {(0, True)}
    assert judge(found.trouble, found.message, found.exits, None, launched=True).reason is Reason.SLICE_LOST
    assert not ranks_of("headless")
    assert rig.wait_for_slice(SECOND).incarnation != up.incarnation


def ranks_of(attempt_id: str) -> list[int]:
    """All processes that carry the attempt's mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("PODWRIGHT_ATTEMPT_ID") == attempt_id and process.pid != os.getpid():
                found.append(process.pid)
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found
