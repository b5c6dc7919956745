"""When a slice is suspect, for how long, and what clears it."""

import pytest

from orchestrator.domain.endings import Reason
from orchestrator.incidents.strikes import FIRST_MS, LONGEST_MS, Strike, suspicions

NOW = 100 * LONGEST_MS


def found(*ages_ms, well_ms=None, now=NOW):
    strikes = [Strike("s", Reason.HOST_LOST, NOW - age) for age in ages_ms]
    return suspicions(strikes, {} if well_ms is None else {"s": NOW - well_ms}, now)


def test_one_strike_makes_a_slice_suspect_for_half_an_hour():
    assert found(0)["s"].until_ms == NOW + FIRST_MS
    assert found(FIRST_MS) == {}


def test_each_further_strike_doubles_it_up_to_a_day():
    assert [found(*range(count))["s"].until_ms - NOW for count in (2, 3)] == [2 * FIRST_MS, 4 * FIRST_MS]
    assert found(*range(20))["s"].until_ms == NOW + LONGEST_MS


def test_what_happened_more_than_a_day_ago_is_forgotten():
    assert found(0, LONGEST_MS)["s"].strikes == 1


@pytest.mark.parametrize(("well_ms", "strikes"), [(10, None), (30, 1), (50, 2)])
def test_an_attempt_that_ended_well_there_clears_what_was_before(well_ms, strikes):
    suspicion = found(20, 40, well_ms=well_ms).get("s")
    assert (suspicion and suspicion.strikes) == strikes


def test_it_says_how_often_and_why():
    assert found(0)["s"].says == "lost an attempt once lately, the last as host_lost"
    assert found(0, 1)["s"].says == "lost an attempt 2 times lately, the last as host_lost"
