"""Whatever is posted as a spec is read or refused with faults, never a trace; and what is read prints as what it is."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.api.specs import read_spec
from orchestrator.domain.errors import InvalidInput
from orchestrator.domain.spec import JobSpec
from orchestrator.store.rows import SPEC

EXAMPLES = settings(max_examples=150)

names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
spans = st.one_of(st.integers(1, 9_999).flatmap(lambda n: st.sampled_from([f"{n}s", f"{n}m", f"{n}h", f"{n}d"])))
counts = st.one_of(st.just("unlimited"), st.integers(0, 1_000))
shapes = st.sampled_from(["v5e:2x4", "v5litepod-16", "v4-8", "2*v5e:4x4", "1-4*v5p:2x2x2", "v6e:16x16"])
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
programs = st.one_of(
    st.fixed_dictionaries({"command": st.lists(texts, min_size=1, max_size=4).filter(lambda words: words[0])}),
    st.integers(1, 10**6).map(lambda steps: {"builtin": "train", "config": {"preset": "tiny", "steps": steps}}),
)
specs = st.fixed_dictionaries(
    {"name": names, "program": programs, "slices": st.one_of(shapes, st.lists(shapes, min_size=1, max_size=3))},
    optional={
        "project": names,
        "priority": st.sampled_from(["production", "normal", "batch", "normal/7", "batch/-3"]),
        "capacity": st.sampled_from(["spot", "on_demand", "reserved", "any"]),
        "expected_runtime": spans,
        "max_runtime": spans,
        "max_wait": st.one_of(spans, st.just("unlimited")),
        "retry": st.fixed_dictionaries({}, optional={"failures": counts, "preemptions": counts, "infra": counts}),
        "checkpoint": st.fixed_dictionaries({}, optional={"every": spans, "keep_last": st.integers(1, 9)}),
        "env_vars": st.dictionaries(st.from_regex(r"[A-OQ-Z_][A-Z0-9_]{0,9}", fullmatch=True), texts, max_size=4),
        "labels": st.dictionaries(names, names, max_size=3),
        "after": st.fixed_dictionaries({"all": st.lists(st.fixed_dictionaries({"job": names}), max_size=2)}),
    },
)


@EXAMPLES
@given(specs)
def test_what_a_spec_prints_as_reads_as_the_same_spec(plain: dict[str, Any]) -> None:
    _check_reading_of(json.dumps(plain).encode())


def test_most_of_the_specs_that_are_drawn_are_read() -> None:
    drawn: list[bool] = []

    @EXAMPLES
    @given(specs)
    def draw(plain: dict[str, Any]) -> None:
        drawn.append(isinstance(_read(json.dumps(plain).encode()), JobSpec))

    draw()
    assert sum(drawn) > len(drawn) / 3


@EXAMPLES
@given(specs, st.lists(st.tuples(st.integers(0, 30), json_values), min_size=1, max_size=3), st.text(max_size=8))
def test_a_spec_in_which_anything_was_changed_is_read_or_refused_in_words(
    plain: dict[str, Any], changes: list[tuple[int, Any]], key: str
) -> None:
    for place, value in changes:
        _change(plain, place, value, key)
    _check_reading_of(json.dumps(plain).encode())


@EXAMPLES
@given(st.one_of(st.binary(max_size=60), json_values.map(lambda value: json.dumps(value).encode())))
def test_any_bytes_are_refused_in_words(body: bytes) -> None:
    _check_reading_of(body)


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"a":' * 50_000, b'{"name": "a", "name": "b"}', b'"\\ud800"', b"1e999"]
)
def test_bodies_that_trouble_parsers_are_refused_in_words(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_spec(body)


def _change(plain: dict[str, Any], place: int, value: Any, key: str) -> None:
    """Put the value at one of the places of the spec, some of which are deep or new."""
    places: list[tuple[Any, Any]] = [(plain, key)]
    for name, part in plain.items():
        places.append((plain, name))
        if isinstance(part, dict):
            places += [(part, inner) for inner in part] + [(part, key)]
        if isinstance(part, list):
            places += [(part, index) for index in range(len(part))]
    container, where = places[place % len(places)]
    container[where] = value


def _check_reading_of(body: bytes) -> None:
    read = _read(body)
    if isinstance(read, InvalidInput):
        assert read.faults
        assert all(fault.message and "\n" not in fault.message for fault in read.faults)
    else:
        printed = SPEC.dump_json(read)
        assert _read(printed) == read
        assert SPEC.dump_json(read_spec(printed)) == printed


def _read(body: bytes) -> JobSpec | InvalidInput:
    try:
        return read_spec(body)
    except InvalidInput as refused:
        return refused
