"""A real gang leader over real agents and ranks, without Ray: faults of processes, and the verdict on each."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.domain.incident import Cause
from orchestrator.incidents.card import with_card
from orchestrator.incidents.verdict import judge
from orchestrator.protocol import CheckpointOrder, FactBody, GangEnded, HostInfo, ProgramOrder, RunOrder
from tests.workers.faults import FAULTS, LIMITS, RANK
from tests.workers.slice.stage import PlayedStreams
from workers.host.agent import Agent
from workers.host.messages import HostOrder, HostStatus, Launched, RankOrder
from workers.host.ports import free_port
from workers.slice.gang import Gang

SLICE = SliceId("pool-0")
DEADLINE_S = 60.0


class DirectHost:
    """A host whose agent is an object of this process; `workers.slice.hosts.Host` has it behind Ray."""

    lost: str | None = None
    clock_ahead_ms = 0
    last_sign_ms = 0

    def __init__(self, host: int, folder: Path) -> None:
        self.info = HostInfo(host, f"node-{host}", "127.0.0.1", 4)
        self.slice_id = SLICE
        self.status: HostStatus | None = None
        self.agent = Agent(HostOrder(SLICE, host, 4, True, str(folder)))
        self._launched: Launched | None = None

    def launch(self, order: RankOrder) -> None:
        self._launched = self.agent.launch(order)

    def launched(self) -> Launched | str | None:
        return self._launched

    def terminate(self, attempt_id: str, grace_ms: int) -> None:
        self.agent.terminate(attempt_id, grace_ms)

    def end(self, attempt_id: str) -> None:
        self.agent.end(attempt_id)

    def inspect(self, attempt_id: str) -> None:
        self.agent.inspect(attempt_id)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Cause]]:
    """Runs a program on two hosts to its end, and gives the verdict."""
    before = set(psutil.Process().children(recursive=True))

    def play(attempt: str, *command: str) -> Cause:
        hosts = [DirectHost(host, tmp_path) for host in range(2)]
        facts: list[FactBody] = []
        program, checkpoint = ProgramOrder(None, None, command), CheckpointOrder(str(tmp_path), None)
        order = RunOrder(
            1, JobId("j"), AttemptId(attempt), 1, (SLICE,), program, {}, checkpoint, "token", limits=LIMITS
        )
        gang = Gang(order, hosts, PlayedStreams(), facts.append, now_ms=wall_ms, ticks_ms=steady_ms)
        gang.launch(f"127.0.0.1:{free_port()}")
        deadline = time.monotonic() + DEADLINE_S
        while not (facts and isinstance(facts[-1], GangEnded)):
            assert time.monotonic() < deadline, f"the gang is still {gang.phase}"
            for host in hosts:
                host.status = host.agent.poll(attempt)
            gang.step()
            time.sleep(0.05)
        end = facts[-1]
        assert isinstance(end, GangEnded)
        cause = judge(end.trouble, end.message, end.exits, None, launched=True, overdue=end.overdue)
        return with_card(cause, end.exits, end.detected_at_ms, end.last_sign_at_ms, end.overdue)

    yield play
    for process in set(psutil.Process().children(recursive=True)) - before:
        process.kill()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_the_right_rank_blamed(run: Callable[..., Cause], fault: str) -> None:
    program, blamed, words = FAULTS[fault]
    cause = run(fault.replace(" ", "-"), sys.executable, "-c", RANK + program)
    print(f"{fault}: {cause.reason}, detected after {cause.card and cause.card.detect_ms} ms: {cause.sentence}")
    assert (cause.reason, cause.rank) == blamed
    assert words in cause.sentence
    assert cause.card is not None
    assert cause.card.detect_ms is not None
    assert [one.rank for one in cause.card.collateral] == [1 - blamed[1]]


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def steady_ms() -> int:
    return time.monotonic_ns() // 1_000_000
