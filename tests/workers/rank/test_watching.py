"""Commits of a program that knows nothing of us, seen from outside; what lies there was written by real Orbax."""

from __future__ import annotations

import queue
from types import SimpleNamespace

from orchestrator.clock import SystemClock
from workers.cluster.watching import MARKER, Watching, commits
from workers.storage import open_storage

NOW = SystemClock().now_ms()


def seen(address, known=()):
    return [(one.step, one.path) for one in commits(open_storage(address), known, NOW)]


def test_what_orbax_committed_is_seen_and_nothing_else(chain):
    forks, address = chain
    forks.start(address, saves=2)
    assert forks.ended() == 0, forks.output()
    folder = f"{address}/1"
    assert seen(folder) == [(1, f"{folder}/1"), (2, f"{folder}/2")]
    assert seen(folder, known=[f"{folder}/1"]) == [(2, f"{folder}/2")]
    (first, _) = commits(open_storage(folder), (), 0)
    assert first.size_bytes == sum(one.size for one in open_storage(folder).tree("1"))
    assert first.at_ms > 0
    # A save that a kill cut off, and what is no step at all.
    storage = open_storage(folder)
    storage.write("3.orbax-checkpoint-tmp-7/state/x", b"1")
    storage.write("4/state/x", b"1")
    storage.write("notes/x", b"1")
    assert [step for step, _ in seen(folder)] == [1, 2]


def test_steps_with_a_prefix_are_steps(root):
    root.write(f"checkpoint_50/{MARKER}", b"yes")
    assert [one.step for one in commits(root, (), NOW)] == [50]


def test_each_commit_is_told_once_and_the_last_one_after_the_attempt_has_ended(root):
    told = queue.Queue()
    answers = iter([False])  # the first post is lost

    def send(attempt_id, found):
        told.put((attempt_id, [one.step for one in found]))
        return next(answers, True)

    watching = Watching(send, now_ms=lambda: NOW, every_s=0.05)
    run = SimpleNamespace(attempt_id="att_1", checkpoint=SimpleNamespace(watch=root.address))
    root.write(f"1/{MARKER}", b"yes")
    watching.follow([run])
    assert told.get(timeout=60) == ("att_1", [1])
    assert told.get(timeout=60) == ("att_1", [1]), "what was not taken is told again"
    root.write(f"2/{MARKER}", b"yes")
    watching.follow([])
    assert told.get(timeout=60) == ("att_1", [2])
