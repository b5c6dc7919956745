import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.gates import Dependencies, Dependency, Impossible, Met, On, Waiting, look
from orchestrator.domain.lifecycle import TERMINAL, JobState

SUCCEEDED, FAILED, CANCELLED, RUNNING = JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.RUNNING


@pytest.mark.parametrize(
    ("on", "state", "gate"),
    [
        (On.SUCCESS, SUCCEEDED, Met),
        (On.SUCCESS, FAILED, Impossible),
        (On.SUCCESS, CANCELLED, Impossible),
        (On.SUCCESS, RUNNING, Waiting),
        (On.FAILURE, FAILED, Met),
        (On.FAILURE, SUCCEEDED, Impossible),
        (On.FAILURE, CANCELLED, Impossible),
        (On.END, CANCELLED, Met),
        (On.END, RUNNING, Waiting),
    ],
)
def test_one_job_is_waited_for_as_it_was_asked(on: On, state: JobState, gate: type) -> None:
    assert isinstance(look(Dependencies(all=(Dependency("a", on),)), {"a": state}), gate)


@pytest.mark.parametrize(
    ("a", "b", "of_all", "of_any"),
    [
        (SUCCEEDED, SUCCEEDED, Met, Met),
        (SUCCEEDED, RUNNING, Waiting, Met),
        (RUNNING, RUNNING, Waiting, Waiting),
        (FAILED, RUNNING, Impossible, Waiting),
        (FAILED, SUCCEEDED, Impossible, Met),
        (FAILED, CANCELLED, Impossible, Impossible),
    ],
)
def test_all_and_any(a: JobState, b: JobState, of_all: type, of_any: type) -> None:
    both, states = (Dependency("a"), Dependency("b")), {"a": a, "b": b}
    assert isinstance(look(Dependencies(all=both), states), of_all)
    assert isinstance(look(Dependencies(any=both), states), of_any)


names = st.sampled_from(["a", "b", "c"])
dependencies = st.lists(st.builds(Dependency, names, st.sampled_from(On)), max_size=4).map(tuple)


@given(
    st.builds(Dependencies, dependencies, dependencies),
    st.fixed_dictionaries(dict.fromkeys("abc", st.sampled_from(JobState))),
)
def test_once_every_job_has_ended_nothing_is_waited_for(after: Dependencies, states: dict[str, JobState]) -> None:
    gate = look(after, states)
    if all(state in TERMINAL for state in states.values()):
        assert not isinstance(gate, Waiting)
    if not after.each:
        assert isinstance(gate, Met)
