"""`--set a.b=c`: single values laid over a spec."""

from collections.abc import Iterable
from typing import Any, Final

import yaml

from orchestrator.cli.failures import CommandFailed, Exit

_TEXT_MAPS: Final = frozenset({"env_vars", "labels"})
"""Their values are text whatever they look like: `--set env_vars.DEPTH=3` means the text 3."""


def apply_settings(data: dict[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """A copy of `data` with each `path=value` laid over it, in order. Values are read as YAML: `3`, `true`, `[a, b]`.

    Raises:
        CommandFailed: a setting without `=`, an empty name in its path, a value that is not YAML, or a path that
            leads through something that is not a mapping.
    """
    result = dict(data)
    for setting in settings:
        path, equals, text = setting.partition("=")
        names = path.split(".")
        if not equals or not all(names):
            raise CommandFailed(f"--set {setting}: write PATH=VALUE, e.g. --set program.config.steps=200", Exit.USAGE)
        result = _laid_over(result, names, _value(names, text, setting), path)
    return result


def _value(names: list[str], text: str, setting: str) -> Any:
    if len(names) > 1 and names[0] in _TEXT_MAPS:
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise CommandFailed(f"--set {setting}: {text!r} is not a YAML value", Exit.USAGE) from None


def _laid_over(data: dict[str, Any], names: list[str], value: Any, path: str) -> dict[str, Any]:
    head, *rest = names
    if not rest:
        return data | {head: value}
    below = data.get(head)
    if below is None:
        below = {}
    if not isinstance(below, dict):
        raise CommandFailed(f"--set {path}: {head} is {below!r}, which has no fields", Exit.USAGE)
    return data | {head: _laid_over(below, rest, value, path)}
