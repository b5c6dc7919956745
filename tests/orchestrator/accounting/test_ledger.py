"""Every chip-millisecond is in one bucket, and in the right one."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.accounting.ledger import AttemptHistory, account, intervals
from orchestrator.domain.ledger import OF_PHASE, Bucket


def history(**fields) -> AttemptHistory:
    known = {
        "chips": 8,
        "ordered_at_ms": 0,
        "ready_at_ms": 100,
        "detected_at_ms": 900,
        "ended_at_ms": 1000,
        "phases": (("init", 200), ("restore", 300), ("train", 400), ("checkpoint", 600), ("train", 650)),
        "first_step_at_ms": 420,
        "last_report_at_ms": 800,
        "commits": ((20, 600),),
        "resumed_step": 0,
    }
    return AttemptHistory(**(known | fields))


def test_each_interval_goes_to_its_bucket():
    assert account([history()], now_ms=5000).chip_ms == {
        Bucket.LAUNCH: 200 * 8,
        Bucket.INIT: 100 * 8,
        Bucket.RESTORE: 100 * 8,
        Bucket.PRODUCTIVE: (200 + 150) * 8,
        Bucket.CHECKPOINT: 50 * 8,
        Bucket.UNREPORTED: 100 * 8,
        Bucket.DRAIN: 100 * 8,
    }


def test_steps_undone_by_a_restart_are_lost():
    again = history(ordered_at_ms=1000, ready_at_ms=1100, phases=(), resumed_step=20, ended_at_ms=1100)
    first = account([history(), again], now_ms=5000)
    assert first.chip_ms[Bucket.PRODUCTIVE] == 200 * 8
    assert first.chip_ms[Bucket.LOST] == 150 * 8


def test_a_restart_from_nothing_loses_everything():
    again = history(ordered_at_ms=1000, phases=(("init", 1000),), commits=(), resumed_step=0)
    assert Bucket.PRODUCTIVE not in account([history(commits=()), again], now_ms=5000).chip_ms


def test_an_attempt_that_has_not_said_where_it_resumed_undoes_nothing_yet():
    waiting = history(ordered_at_ms=1000, ready_at_ms=None, phases=(), resumed_step=None, detected_at_ms=None)
    assert Bucket.LOST not in account([history(), waiting], now_ms=1500).chip_ms


def test_a_program_that_never_reports_is_unreported():
    silent = history(phases=(), first_step_at_ms=None, last_report_at_ms=None, commits=(), resumed_step=None)
    assert account([silent], now_ms=5000).chip_ms == {
        Bucket.LAUNCH: 100 * 8,
        Bucket.UNREPORTED: 800 * 8,
        Bucket.DRAIN: 100 * 8,
    }


def test_a_program_that_reports_steps_but_no_phases_trains_from_its_first_step():
    plain = history(phases=(), commits=(), resumed_step=None)
    assert account([plain], now_ms=5000).chip_ms == {
        Bucket.LAUNCH: 100 * 8,
        Bucket.UNREPORTED: (320 + 100) * 8,
        Bucket.PRODUCTIVE: 380 * 8,
        Bucket.DRAIN: 100 * 8,
    }


def test_a_live_attempt_counts_until_now():
    live = history(detected_at_ms=None, ended_at_ms=None)
    assert account([live], now_ms=1300).allocated == 1300 * 8


def test_goodput_of_nothing_is_unknown():
    assert account([], now_ms=0).goodput is None


times = st.integers(0, 2000)


@given(
    st.lists(st.tuples(st.sampled_from([*OF_PHASE, "mystery"]), times), max_size=8),
    st.one_of(st.none(), times),
    st.one_of(st.none(), times),
    st.one_of(st.none(), times),
    st.one_of(st.none(), times),
)
def test_whatever_the_clocks_say_the_intervals_cover_the_attempt_once(phases, ready, report, detected, kept):
    attempt = history(phases=tuple(phases), ready_at_ms=ready, last_report_at_ms=report, detected_at_ms=detected)
    found = intervals(attempt, kept, now_ms=5000)
    edges = [(interval.since_ms, interval.until_ms) for interval in found]
    assert edges[0][0] == 0
    assert edges[-1][1] == 1000
    assert all(until == since for (_, until), (since, _) in pairwise(edges))
