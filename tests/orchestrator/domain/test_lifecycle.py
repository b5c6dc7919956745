"""The lifecycle table says all there is to say: these walk it."""

import itertools

import pytest

from orchestrator.domain.errors import IllegalTransition
from orchestrator.domain.lifecycle import ACTIVE, TERMINAL, TRANSITIONS, JobEvent, JobState, advance, can


def test_nothing_leaves_a_terminal_state():
    assert [pair for pair in TRANSITIONS if pair[0] in TERMINAL] == []


@pytest.mark.parametrize("state", [s for s in JobState if s not in TERMINAL])
def test_every_other_state_reaches_an_end(state):
    reached, before = {state}, set()
    while reached != before:
        before = set(reached)
        reached |= {to for (of, _), to in TRANSITIONS.items() if of in reached}
    assert reached & TERMINAL


@pytest.mark.parametrize(("state", "event"), list(itertools.product(JobState, JobEvent)))
def test_pairs_outside_the_table_raise(state, event):
    if can(state, event):
        assert advance(state, event) is TRANSITIONS[state, event]
    else:
        with pytest.raises(IllegalTransition, match=f"{state} cannot be {event}"):
            advance(state, event)


def test_every_state_can_be_reached_from_the_queue():
    reached, before = {JobState.QUEUED}, set()
    while reached != before:
        before = set(reached)
        reached |= {to for (of, _), to in TRANSITIONS.items() if of in reached}
    assert reached == set(JobState)


def test_a_job_holds_slices_only_after_it_was_placed():
    assert {to for (_, event), to in TRANSITIONS.items() if event is JobEvent.PLACED} <= ACTIVE
    assert not ACTIVE & TERMINAL
