"""XPK: a shell script, or a line, with `xpk workload create …`."""

import re
import shlex
from typing import Final

from orchestrator.cli.foreign.translation import CannotTranslate, Translation, job_name, numbered

_PRIORITIES: Final = {"very-high": "production/1", "high": "production", "medium": "normal", "low": "batch",
                      "very-low": "batch/-1"}  # fmt: skip
_FLAGS: Final = {"spot": "spot", "on-demand": "on_demand", "flex": "any"}
_NOT_NEEDED: Final = {
    "cluster": "the clusters that are connected decide",
    "project": "the clusters that are connected decide",
    "zone": "the clusters that are connected decide",
    "scheduler": "Podwright schedules",
    "enable-debug-logs": "logs of all ranks are kept",
    "termination-grace-period-seconds": "see grace",
}
_BY_HAND: Final = {
    "docker-image": "the hosts' image is the cluster's; bring code with program.code",
    "base-docker-image": "the hosts' image is the cluster's; bring code with program.code",
    "script-dir": "name the folder as program.code",
    "env-file": "write its variables into env_vars",
    "use-pathways": "Pathways is not supported",
    "storage": "read and write gs:// paths",
    "device-type": "say which slices: --slices",
}


def read(text: str, slices: str | None) -> Translation:
    """Translate the first `workload create`. Raises CannotTranslate when there is none or it has no command."""
    number, words = _command(text)
    options = _options(words)
    made = Translation()
    made.spec["name"] = job_name(next((value for name, value in options if name == "workload"), "job"))
    given = dict(options)
    shape = given.get("tpu-type") or given.get("device-type") or ""
    count = given.get("num-slices", "1")
    found = f"{count}*{shape}" if count not in ("", "1") else shape
    made.request(slices or found, number, f"--tpu-type={shape}" if shape else "no --tpu-type")
    if not given.get("command"):
        raise CannotTranslate("its workload has no --command")
    made.run_script(given["command"].rstrip() + "\n")
    for name, value in options:
        _option(made, number, name, value)
    return made


def _command(text: str) -> tuple[int, list[str]]:
    for number, line in numbered(text):
        words = shlex.split(line, comments=True)
        for at in range(len(words) - 1):
            if words[at : at + 2] == ["workload", "create"]:
                return number, words[at + 2 :]
    raise CannotTranslate("there is no `xpk workload create` in it")


def _options(words: list[str]) -> list[tuple[str, str]]:
    found = []
    while words:
        word = words.pop(0)
        match = re.fullmatch(r"--([a-z-]+)(?:=(.*))?", word, re.DOTALL)
        if not match:
            continue
        value = match[2]
        if value is None:
            value = words.pop(0) if words and not words[0].startswith("--") else ""
        found.append((match[1], value))
    return found


def _option(made: Translation, number: int, name: str, value: str) -> None:
    said = f"--{name}" + (f"={value}" if value else "")
    match name:
        case "workload" | "tpu-type" | "num-slices" | "command":
            pass
        case "env":
            key, _, text = value.partition("=")
            made.env(key, text)
        case "priority" if value in _PRIORITIES:
            made.spec["priority"] = _PRIORITIES[value]
        case "max-restarts" if value.isdigit():
            made.spec["retry"] = {"failures": int(value)}
        case "reservation":
            made.spec["capacity"] = "reserved"
        case _ if name in _FLAGS:
            made.spec["capacity"] = _FLAGS[name]
        case _ if name in _NOT_NEEDED:
            made.leave(number, said, f"not needed: {_NOT_NEEDED[name]}")
        case _:
            made.leave(number, said, _BY_HAND.get(name, "has no counterpart here"))
