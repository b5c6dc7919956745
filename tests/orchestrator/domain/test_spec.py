"""Rules of a spec that types cannot say: each fault names its field."""

import pytest

from orchestrator.domain.endings import Budget
from orchestrator.domain.faults import SpecError
from orchestrator.domain.program import MAX_ENV_BYTES, Program
from orchestrator.domain.spec import Band, CheckpointPolicy, RetryPolicy, duration_ms
from tests.builders import a_spec


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"name": "Shakespeare!"}, "name", "a-z 0-9"),
        ({"name": ""}, "name", "1 to 63"),
        ({"project": "../x"}, "project", "begin and end"),
        ({"slices": ()}, "slices", "at least one"),
        ({"slices": "v5e:3x3"}, "slices", "no topology"),
        ({"slices": ("v5e:2x4", "v1")}, "slices[1]", "is not a slice"),
        ({"slices": "4-2*v5e:2x4"}, "slices", "not a range of counts"),
        ({"expected_runtime": "soon"}, "expected_runtime", "not a time span"),
        ({"expected_runtime": "unlimited"}, "expected_runtime", "cannot be unlimited"),
        ({"priority": "urgent"}, "priority", "production, normal or batch"),
        ({"priority": "normal/9223372036854775808"}, "priority", "not a priority"),
        ({"max_runtime": "-5"}, "max_runtime", "not a time span"),
        ({"max_runtime": "0s"}, "max_runtime", "more than 0"),
        ({"max_wait": "1e308"}, "max_wait", "not a time span"),
        ({"grace": "unlimited"}, "grace", "cannot be unlimited"),
        ({"grace": "2h"}, "grace", "at most 1h"),
        ({"env_vars": {"1X": "a"}}, "env_vars.1X", "letters, digits"),
        ({"env_vars": {"PODWRIGHT_RANK": "0"}}, "env_vars.PODWRIGHT_RANK", "are ours"),
        ({"env_vars": {"X": "a\0"}}, "env_vars.X", "zero byte"),
        ({"env_vars": {"X": "a" * MAX_ENV_BYTES}}, "env_vars.X", "at most 131071 bytes"),
        ({"env_vars": {f"X{i}": "a" * 100_000 for i in range(11)}}, "env_vars", "all together"),
        ({"labels": {"": "x"}}, "labels.", "1 to 63"),
    ],
)
def test_a_bad_field_is_named(fields, field, says):
    with pytest.raises(SpecError, match=says) as caught:
        a_spec(**fields)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Program(), ""),
        (lambda: Program(builtin="train", command=("x",)), ""),
        (lambda: Program(command=("x",), config={}), "config"),
        (lambda: Program(command=("",)), "command[0]"),
        (lambda: Program(command=("x", "a\0b")), "command[1]"),
        (lambda: Program(command=("x",) * 1001), "command"),
        (lambda: RetryPolicy(failures=-1), "failures"),
        (lambda: CheckpointPolicy(every_steps=0), "every_steps"),
    ],
)
def test_a_bad_part_is_named(make, field):
    with pytest.raises(SpecError) as caught:
        make()
    assert caught.value.field.startswith(field)


def test_an_environment_value_of_the_longest_length_passes():
    spec = a_spec(env_vars={"X": "a" * (MAX_ENV_BYTES - 2)})
    assert len(spec.env_vars["X"]) == MAX_ENV_BYTES - 2


@pytest.mark.parametrize(
    ("text", "ms"), [("30s", 30_000), ("2h30m", 9_000_000), ("250ms", 250), ("1d", 86_400_000), ("unlimited", None)]
)
def test_time_spans_read_as_people_write_them(text, ms):
    assert duration_ms(text, "x") == ms


def test_values_follow_from_the_text():
    spec = a_spec(slices=("v5p-8", "v5e:2x4"), priority="batch/-3", retry=RetryPolicy(preemptions=4))
    assert [str(choice) for choice in spec.choices] == ["v5p:2x2x1", "v5e:2x4"]
    assert (spec.band, spec.rank_in_band) == (Band.BATCH, -3)
    assert spec.retry.limit(Budget.PREEMPTIONS) == 4
    assert a_spec().retry.limit(Budget.PREEMPTIONS) is None
