"""One row per reason, and rows that make sense."""

import pytest

from orchestrator.domain.endings import ENDINGS, Budget, Outcome, Reason, ending


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_row_with_words(reason):
    row = ending(reason)
    assert row.reason is reason
    assert row.says
    assert row.says[0].islower() or row.says.startswith("max_")


@pytest.mark.parametrize("row", ENDINGS.values(), ids=lambda row: row.reason)
def test_only_what_retries_is_charged(row):
    if row.charges is not None:
        assert row.retries
    if row.outcome is Outcome.NONE:
        assert row.retries
        assert row.charges is None


def test_a_lost_host_is_no_failure_of_the_program():
    for reason in (Reason.HOST_LOST, Reason.SLICE_LOST, Reason.PREEMPTED):
        assert ending(reason).charges is Budget.PREEMPTIONS


def test_only_a_completed_gang_succeeds():
    assert [r.reason for r in ENDINGS.values() if r.outcome is Outcome.SUCCEEDED] == [Reason.COMPLETED]
