"""When a gang is overdue: limits by phase, steps by their own history, the barrier by who is missing."""

from typing import Any

import pytest

from orchestrator.domain.incident import Overdue
from orchestrator.domain.patience import Limits, Patience, limits_of
from workers.host.messages import Pulse
from workers.slice.clocks import ClockOffset
from workers.slice.patience import overdue

BUILTIN = limits_of(Patience(), hosts=2, builtin=True)
COMMAND = limits_of(Patience(), hosts=2, builtin=False)
SHORT = limits_of(Patience(init="5s", step="3s"), hosts=2, builtin=False)


def a_pulse(**fields: Any) -> Pulse:
    return Pulse(**({"age_ms": 1_000, "joined": True} | fields))


def training(step_ms: int, gaps: int = 10, **fields: Any) -> Pulse:
    return a_pulse(phase="train", step=40, step_ms=step_ms, gaps=gaps, **fields)


IN_TIME = {
    "just launched": (BUILTIN, [a_pulse(joined=False, phase="init"), a_pulse(joined=False)]),
    "nobody joins and nobody said so": (SHORT, [a_pulse(joined=False, age_ms=10**9)] * 2),
    "a short step of a built-in program": (BUILTIN, [training(59_000, median_ms=10, slowest_ms=20)] * 2),
    "within twenty times the median": (BUILTIN, [training(190_000, median_ms=10_000, slowest_ms=11_000)] * 2),
    "within four times the slowest": (BUILTIN, [training(390_000, median_ms=10_000, slowest_ms=100_000)] * 2),
    "the first step may hold a compilation": (SHORT, [training(3_000_000, gaps=0)] * 2),
    "no history yet": (BUILTIN, [training(3_000_000, gaps=2)] * 2),
    "all steps are made": (SHORT, [training(10**9, total_steps=40)] * 2),
    "it saves": (SHORT, [a_pulse(phase="checkpoint", phase_ms=3_000_000, step=40, step_ms=3_000_000)] * 2),
    "a phase of its own": (SHORT, [a_pulse(phase="dream", phase_ms=10**9)] * 2),
    "steps without phases": (COMMAND, [a_pulse(step=3, gaps=9, step_ms=599_000)]),
}


@pytest.mark.parametrize("case", IN_TIME)
def test_in_time(case: str) -> None:
    limits, pulses = IN_TIME[case]
    assert overdue(limits, dict(enumerate(pulses))) is None


LATE = {
    "one is missing at the barrier": (
        SHORT,
        [a_pulse(), a_pulse(joined=False, age_ms=5_001)],
        Overdue("join", (1,), 5_001, 5_000),
    ),
    "none comes to a barrier that they all spoke of": (
        BUILTIN,
        [a_pulse(joined=False, phase="init", age_ms=182_001)] * 2,
        Overdue("join", (0, 1), 182_001, 182_000),
    ),
    "a step": (SHORT, [training(3_001), training(10)], Overdue("train", (0,), 3_001, 3_000, 40)),
    "a step, by history": (
        BUILTIN,
        [training(200_001, median_ms=10_000, slowest_ms=11_000), training(3)],
        Overdue("train", (0,), 200_001, 200_000, 40),
    ),
    "a save": (
        SHORT,
        [a_pulse(phase="checkpoint", phase_ms=3_600_001, step=7)] * 2,
        Overdue("checkpoint", (0, 1), 3_600_001, 3_600_000, 7),
    ),
    "the barrier before all else": (
        SHORT,
        [training(10**6), a_pulse(joined=False, age_ms=9_000)],
        Overdue("join", (1,), 9_000, 5_000),
    ),
}


@pytest.mark.parametrize("case", LATE)
def test_late(case: str) -> None:
    limits, pulses, found = LATE[case]
    assert overdue(limits, dict(enumerate(pulses))) == found


def test_the_limit_of_the_barrier_grows_with_the_gang_and_unlimited_has_none() -> None:
    assert [limits_of(Patience(), hosts, True).init_ms for hosts in (1, 1024)] == [181_000, 1_204_000]
    silent = limits_of(Patience(init="unlimited", step="unlimited", compile="unlimited"), 2, True)
    assert (silent.init_ms, silent.step_ms, silent.of_step(9, 1, 1)) == (None, None, None)
    assert isinstance(silent, Limits)


def test_a_clock_is_wrong_only_if_it_must_be_and_may_be_set_anew() -> None:
    clock = ClockOffset()
    clock.take(sent_ms=1_000, received_ms=1_300, theirs_ms=1_250)
    assert clock.ahead_ms == 0  # it may have been read at any moment of these 300 ms
    clock.take(2_000, 2_400, 12_300)
    clock.take(3_000, 3_050, 13_100)
    assert clock.ahead_ms == pytest.approx(10_075, abs=100)
    clock.take(4_000, 4_300, 4_100)
    assert clock.ahead_ms == 0
