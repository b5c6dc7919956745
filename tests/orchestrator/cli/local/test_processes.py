"""Processes by identity, on tiny real ones."""

import dataclasses
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from orchestrator.cli.local.processes import MARK, end_tree, identify, kill_all, kill_tree, marked, wait_gone

_PARENT = """
import signal, subprocess, sys
if sys.argv[1] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def mark() -> Iterator[str]:
    """A mark for the test's processes; whatever carries it is killed at the end."""
    made = uuid.uuid4().hex
    yield made
    kill_all(marked(made))


def _family(mark: str, kind: str) -> tuple[subprocess.Popen[bytes], int]:
    command = [sys.executable, "-c", _PARENT, kind]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {MARK: mark}, start_new_session=True)
    assert parent.stdout is not None
    with parent.stdout as pipe:
        return parent, int(pipe.readline())


def test_a_process_is_itself_until_it_ends(mark: str) -> None:
    parent, _ = _family(mark, "meek")
    identity = identify(parent.pid)
    assert identity is not None
    assert identity.alive
    parent.kill()
    assert wait_gone([identity], grace_s=5)
    assert not identity.alive
    parent.wait()


def test_a_recycled_pid_is_another_process_and_gets_no_signal() -> None:
    ours = identify(os.getpid())
    assert ours is not None
    former = dataclasses.replace(ours, started_ticks=ours.started_ticks - 1)
    assert not former.alive
    former.signal(signal.SIGKILL)  # would end this test


@pytest.mark.parametrize("kind", ["meek", "stubborn"])
def test_ending_a_tree_leaves_none_of_it(mark: str, kind: str) -> None:
    parent, child_pid = _family(mark, kind)
    root, child = identify(parent.pid), identify(child_pid)
    assert root is not None
    assert child is not None
    end_tree(root, grace_s=1)
    assert not root.alive
    assert not child.alive
    parent.wait()


def test_killing_a_tree_takes_descendants_of_other_sessions_too(mark: str) -> None:
    parent, child_pid = _family(mark, "stubborn")
    root, child = identify(parent.pid), identify(child_pid)
    assert root is not None
    assert child is not None
    kill_tree(root)
    assert not child.alive
    parent.wait()


def test_an_orphan_is_found_by_its_mark(mark: str) -> None:
    parent, child_pid = _family(mark, "meek")
    parent.kill()
    parent.wait()
    orphan = identify(child_pid)
    assert marked(mark) == {orphan}
    assert marked(uuid.uuid4().hex) == set()
