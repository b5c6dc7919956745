"""Specs that an earlier version took are read by this one whatever it says of them, and shown as they were written."""

import json
from typing import Any

import pytest

from orchestrator.domain.spec import RefusedSpec
from orchestrator.store.specs import plain_spec, read_spec

GOOD: dict[str, Any] = {"name": "toy", "program": {"command": ["true"]}, "slices": "v5e:2x4", "labels": {"a": "b"}}


@pytest.mark.parametrize(
    "changes",
    [
        {"slices": "v9:2x4"},
        {"slices": 7},
        {"name": "No Name"},
        {"program": {"command": []}},
        {"program": None},
        {"priority": "urgent"},
        {"retry": {"failures": -1}},
        {"field_of_old": True},
        {"max_runtime": "1y"},
        {"notify": [{"webhook": "ftp://x"}]},
        {"env_vars": ["A=B"]},
    ],
)
def test_whatever_is_stored_is_read_and_what_can_be_understood_of_it_is(changes: dict[str, Any]) -> None:
    written = GOOD | changes
    spec = read_spec(json.dumps(written))
    assert isinstance(spec, RefusedSpec)
    assert plain_spec(spec) == written
    assert next(iter(changes)) in spec.why
    assert spec.labels == {"a": "b"}
    assert (spec.name, spec.project) == (written["name"], "default")
    assert (spec.choices, spec.band, spec.grace_ms, spec.max_runtime_ms) is not None


def test_a_good_one_is_what_it_says() -> None:
    spec = read_spec(json.dumps(GOOD))
    assert not isinstance(spec, RefusedSpec)
    assert {name: plain_spec(spec)[name] for name in ("name", "slices", "labels")} == {
        name: GOOD[name] for name in ("name", "slices", "labels")
    }
