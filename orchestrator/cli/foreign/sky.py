"""SkyPilot task files."""

from collections.abc import Mapping
from typing import Any, Final

import yaml

from orchestrator.cli.foreign.translation import CannotTranslate, Translation, job_name, mapping_at

_OURS: Final = {"name", "resources", "envs", "secrets", "setup", "run", "workdir", "num_nodes"}
_RESOURCES: Final = {"accelerators", "use_spot", "job_recovery", "labels"}
_NOT_NEEDED: Final = {
    "cloud": "the clusters that are connected decide",
    "infra": "the clusters that are connected decide",
    "region": "the clusters that are connected decide",
    "zone": "the clusters that are connected decide",
    "cpus": "a job has its hosts to itself",
    "memory": "a job has its hosts to itself",
    "disk_size": "the hosts are there already",
    "instance_type": "the slice says which hosts",
}
_BY_HAND: Final = {
    "file_mounts": "put small files into the folder that program.code names, and read large ones from gs://",
    "service": "Podwright runs training, not services",
    "ports": "Podwright runs training, not services",
    "image_id": "the hosts' image is the cluster's",
    "accelerator_args": "the hosts' image is the cluster's",
    "any_of": "give a list of slices, best first",
    "ordered": "give a list of slices, best first",
    "autostop": "slices are not started by jobs",
}


def read(text: str, slices: str | None) -> Translation:
    """Translate a task. Raises CannotTranslate when it is not one."""
    data, lines = _load(text)
    made = Translation()
    made.spec["name"] = job_name(str(data.get("name") or "job"))
    resources = mapping_at(data, "resources")
    _slices(made, data, resources, slices, lines)
    for group in ("envs", "secrets"):
        for name, value in mapping_at(data, group).items():
            if value is None or group == "secrets":
                made.spec.setdefault("secrets", []).append(str(name))
                made.leave(lines.get(f"{group}.{name}", 0), f"{group}.{name}", "set it once as a secret of the project")
            else:
                made.env(str(name), value)
    script = "\n".join(str(data[part]).rstrip() for part in ("setup", "run") if data.get(part))
    if not script:
        raise CannotTranslate("it has no run")
    made.run_script(script + "\n")
    if data.get("setup"):
        made.leave(lines.get("setup", 0), "setup", "now the first part of the script: it runs at every start")
    if data.get("workdir"):
        made.spec["program"]["code"] = data["workdir"]
    for place, known, under in ((data, _OURS, ""), (resources, _RESOURCES, "resources.")):
        for key in place:
            if key not in known:
                why = f"not needed: {_NOT_NEEDED[key]}" if key in _NOT_NEEDED else _BY_HAND.get(key, "no counterpart")
                made.leave(lines.get(under + str(key), 0), under + str(key), why)
    return made


def _slices(
    made: Translation, data: Mapping[str, Any], resources: Mapping[str, Any], slices: str | None, lines: dict[str, int]
) -> None:
    wanted = resources.get("accelerators")
    name = next(iter(wanted)) if isinstance(wanted, dict) and wanted else wanted
    # SkyPilot writes tpu-v5e-16, or tpu-v5p-8:1; a task's nodes are then that many slices.
    found = str(name or "").split(":")[0].removeprefix("tpu-")
    count = data.get("num_nodes", 1)
    if isinstance(count, int) and count > 1:
        found = f"{count}*{found}"
    made.request(slices or found, lines.get("resources.accelerators", 0), f"accelerators: {name}")
    if isinstance(use_spot := resources.get("use_spot"), bool):
        made.spec["capacity"] = "spot" if use_spot else "on_demand"
    if isinstance(labels := resources.get("labels"), dict):
        made.spec["labels"] = {str(key): str(value) for key, value in labels.items()}
    recovery = resources.get("job_recovery")
    if isinstance(recovery, dict) and isinstance(restarts := recovery.get("max_restarts_on_errors"), int):
        made.spec["retry"] = {"failures": restarts}


def _load(text: str) -> tuple[Mapping[str, Any], dict[str, int]]:
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        data = loader.construct_document(root) if root else None
    except yaml.YAMLError as error:
        raise CannotTranslate(f"it is not YAML: {error}") from None
    if not isinstance(data, dict) or root is None:
        raise CannotTranslate("it is not a mapping")
    return data, dict(_lines(root, ""))


def _lines(node: yaml.Node, under: str) -> list[tuple[str, int]]:
    if not isinstance(node, yaml.MappingNode):
        return []
    found: list[tuple[str, int]] = []
    for key, value in node.value:
        path = f"{under}.{key.value}".strip(".")
        found += [(path, key.start_mark.line + 1), *_lines(value, path)]
    return found
