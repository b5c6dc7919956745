import pytest

from orchestrator.client.fields import find, spec_fields


@pytest.mark.parametrize(
    ("path", "kind", "default"),
    [
        ("name", "text", None),
        ("slices", "text or list of text", None),
        ("capacity", "one of any, spot, on_demand, reserved or list of one of any, spot, on_demand, reserved", "any"),
        ("retry.preemptions", "whole number or unlimited", "unlimited"),
        ("checkpoint.keep_best.mode", "min or max", "min"),
        ("checkpoint.every_steps", "whole number", "none"),
        ("env_vars", "mapping", "{}"),
        ("after.all[0].on", "one of success, failure, end", "success"),
        ("program.config.model.rotary_base", "number", "10000.0"),
        ("program.config.model.qk_norm", "true or false", "false"),
    ],
)
def test_a_field_is_told_as_yaml_has_it(path: str, kind: str, default: str | None) -> None:
    field = find(path)
    assert field is not None
    assert (field.kind, field.default) == (kind, default)


def test_a_field_says_what_the_text_below_it_says_and_what_its_values_mean() -> None:
    runtime, source = find("max_runtime"), find("program.config.data.source")
    assert runtime is not None
    assert runtime.about.startswith("Time from the first attempt's start to the end")
    assert source is not None
    assert "- jsonl: one object a line" in source.about


def test_what_is_no_field_is_not_found() -> None:
    assert find("slice") is None
    assert find("program.config.modle") is None


def test_every_field_at_the_top_says_what_it_is_for() -> None:
    assert [field.path for field in spec_fields() if not field.about] == []
