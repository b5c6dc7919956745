"""The launcher's rules that need no siblings: back-off, one launcher per folder, and the way out."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.cli.local.interrupt import Interrupt, Interrupted
from orchestrator.cli.local.launcher import AlreadyRunning, Launcher, back_off_s, end_recorded
from orchestrator.cli.local.siblings import LocalPlan
from orchestrator.domain.topology import SliceShape


def _launcher(folder: Path) -> Launcher:
    return Launcher(LocalPlan(folder, SliceShape.parse("v5e:2x4"), 2, None), Interrupt(), say=lambda _: None)


@pytest.fixture
def own_signals() -> Iterator[None]:
    """The signal handlers of the test runner come back after the test."""
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


def test_the_back_off_doubles_up_to_half_a_minute() -> None:
    assert [back_off_s(failures) for failures in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


def test_a_second_launcher_is_told_of_the_first_until_that_stops(tmp_path: Path) -> None:
    first = _launcher(tmp_path)
    with pytest.raises(AlreadyRunning) as refused:
        _launcher(tmp_path)
    assert refused.value.pid == os.getpid()
    first.stop()
    _launcher(tmp_path).stop()


def test_there_is_nothing_to_end_in_a_folder_where_nothing_was_started(tmp_path: Path) -> None:
    assert end_recorded(tmp_path) == ()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_pause_at_once_and_is_remembered(own_signals: None, number: signal.Signals) -> None:
    interrupt = Interrupt()
    interrupt.install()
    interrupt.check()
    os.kill(os.getpid(), number)
    with pytest.raises(Interrupted):
        interrupt.pause(60)
    with pytest.raises(Interrupted):
        interrupt.check()
