"""Counting-only, the classic policies give the completion times that an independent implementation computed."""

from pathlib import Path

import pytest

from orchestrator.scheduler.policy import DEFAULT, EASY, FIFO
from orchestrator.simulator.engine import Setup, simulate
from orchestrator.simulator.fleet import counting
from orchestrator.simulator.metrics import summarise
from orchestrator.simulator.trace import read_trace

TRACES = Path(__file__).parent / "traces"
SHOCKWAVE = "shockwave_32gpu_120jobs_actualwork.csv", 32
POLLUX = "pollux_w1x_6.csv", 64


def figures(trace, policy):
    name, chips = trace
    return summarise(simulate(Setup(read_trace(TRACES / name), counting(chips), policy)))


@pytest.mark.parametrize(
    ("trace", "policy", "mean_s"),
    [(SHOCKWAVE, FIFO, 9_223), (SHOCKWAVE, EASY, 9_089), (POLLUX, FIFO, 14_248), (POLLUX, EASY, 8_707)],
    ids=["shockwave fifo", "shockwave easy", "pollux fifo", "pollux easy"],
)
def test_mean_completion_is_the_references(trace, policy, mean_s):
    assert figures(trace, policy).completion_s.mean == pytest.approx(mean_s, rel=0.01)


@pytest.mark.parametrize("trace", [SHOCKWAVE, POLLUX], ids=["shockwave", "pollux"])
def test_the_default_is_no_worse_than_easy(trace):
    ours, easy = figures(trace, DEFAULT), figures(trace, EASY)
    assert ours.completion_s.mean <= easy.completion_s.mean
    assert ours.bounded_slowdown.p99 <= easy.bounded_slowdown.p99
