"""`--set a.b=c`."""

from typing import Any

import pytest

from orchestrator.cli.failures import CommandFailed
from orchestrator.cli.remote.settings import apply_settings


@pytest.mark.parametrize(
    ("setting", "result"),
    [
        ("name=big", {"name": "big"}),
        ("program.config.steps=20", {"name": "tiny", "program": {"config": {"steps": 20}}}),
        ("program.command=[sh, -c, 'a=b']", {"name": "tiny", "program": {"command": ["sh", "-c", "a=b"]}}),
        ("retry.preemptions=unlimited", {"name": "tiny", "retry": {"preemptions": "unlimited"}}),
        ("env_vars.DEPTH=3", {"name": "tiny", "env_vars": {"DEPTH": "3"}}),
        ("labels.when=", {"name": "tiny", "labels": {"when": ""}}),
    ],
)
def test_a_value_is_laid_over_the_spec(setting: str, result: dict[str, Any]) -> None:
    assert apply_settings({"name": "tiny"}, [setting]) == result


def test_later_settings_win_and_the_given_spec_stays_as_it_was() -> None:
    spec = {"program": {"config": {"steps": 1, "seed": 7}}}
    laid = apply_settings(spec, ["program.config.steps=2", "program.config.steps=3"])
    assert laid == {"program": {"config": {"steps": 3, "seed": 7}}}
    assert spec == {"program": {"config": {"steps": 1, "seed": 7}}}


@pytest.mark.parametrize("setting", ["name", "=x", "a..b=1", ".a=1", "name.first=x", "a=[1"])
def test_a_setting_that_makes_no_sense_is_refused(setting: str) -> None:
    with pytest.raises(CommandFailed, match="--set"):
        apply_settings({"name": "tiny"}, [setting])
