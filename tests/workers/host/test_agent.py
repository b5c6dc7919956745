"""An agent without Ray: one rank per attempt, its evidence, and its lease."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from orchestrator.protocol import ProgramOrder
from workers.host import streams
from workers.host.agent import Agent
from workers.host.messages import HostOrder, HostStatus, RankOrder

DEADLINE_S = 30.0
SLEEP = ("python", "-c", "import time; time.sleep(600)")


def an_order(attempt_id: str, *command: str) -> RankOrder:
    program = ProgramOrder(None, None, command)
    return RankOrder("job", attempt_id, 1, 0, 1, "127.0.0.1:23000", program, {}, "", None)


@pytest.fixture
def an_agent(tmp_path: Path) -> Iterator[Callable[[float], Agent]]:
    before = set(psutil.Process().children(recursive=True))

    def make(lease_s: float = 10.0) -> Agent:
        return Agent(HostOrder("slice", 0, 4, True, str(tmp_path)), lease_s)

    yield make
    for process in set(psutil.Process().children(recursive=True)) - before:
        process.kill()


def drained(agent: Agent, attempt_id: str, *, every_s: float = 0.02) -> HostStatus:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        status = agent.poll(attempt_id)
        if status.drained:
            return status
        time.sleep(every_s)
    raise AssertionError("the rank never ended")


def test_an_attempt_is_launched_once_whatever_is_asked(an_agent: Callable[..., Agent]) -> None:
    agent = an_agent()
    first = agent.launch(an_order("a", *SLEEP))
    assert agent.launch(an_order("a", *SLEEP)) == first
    with pytest.raises(RuntimeError, match="attempt a still has processes here"):
        agent.launch(an_order("b", *SLEEP))
    agent.end("a")
    assert drained(agent, "a").exit is not None
    assert agent.launch(an_order("b", "true")).pid != first.pid


def test_the_report_of_a_failed_rank_holds_its_evidence(an_agent: Callable[..., Agent]) -> None:
    code = (
        "import json, os, sys; spool = open(os.environ['PODWRIGHT_SPOOL'], 'a')\n"
        "spool.write(json.dumps({'type': 'metrics', 'step': 12}) + '\\n' + 'not json\\n')\n"
        "spool.write(json.dumps({'type': 'failure', 'reason': 'nan_loss', 'message': 'loss is nan'}) + '\\n')\n"
        "[print('line', n, file=sys.stderr) for n in range(60)]; sys.exit(1)"
    )
    agent = an_agent()
    agent.launch(an_order("a", "python", "-c", code))
    status = drained(agent, "a")
    found = status.exit
    assert found is not None
    assert (found.exit_code, found.last_step, len(found.stderr_tail)) == (1, 12, 50)
    assert found.stderr_tail[-1] == "line 59"
    assert found.claim is not None
    assert (found.claim.reason, found.claim.message) == ("nan_loss", "loss is nan")
    assert len(agent.read("a", {"spool": 5}, 100)["spool"]) == min(100, status.sizes["spool"] - 5)


def test_a_rank_ends_when_nobody_polls(an_agent: Callable[..., Agent]) -> None:
    agent = an_agent(0.5)
    rank = psutil.Process(agent.launch(an_order("a", *SLEEP)).pid)
    psutil.wait_procs([rank], timeout=DEADLINE_S)
    found = drained(agent, "a").exit
    assert found is not None
    assert found.ordered


def test_an_attempt_that_was_never_here_is_drained(an_agent: Callable[..., Agent]) -> None:
    found = an_agent().poll("other")
    assert (found.attempt_id, found.exit, found.drained, found.sizes) == ("other", None, True, {})


def test_files_of_uploaded_attempts_are_removed_but_not_the_present_ones(
    an_agent: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = an_agent()
    for name in ("a", "b"):
        agent.launch(an_order(name, "true"))
        drained(agent, name)
    agent.forget(("a", "b"))
    assert [path.name for path in (tmp_path / "slice-0").iterdir()] == ["b"]


def test_an_exit_is_told_even_if_its_evidence_cannot_be_read(
    an_agent: Callable[..., Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Path) -> None:
        raise MemoryError

    monkeypatch.setattr(streams, "spool_evidence", fails)
    agent = an_agent()
    agent.launch(an_order("a", "false"))
    found = drained(agent, "a").exit
    assert found is not None
    assert (found.exit_code, found.last_step, found.claim) == (1, None, None)
