"""Slurm batch scripts: `#SBATCH` options, then a shell script of which `srun` starts the parallel part."""

import re
import shlex
from typing import Final

from orchestrator.cli.foreign.translation import CannotTranslate, Translation, job_name, numbered

_SHORT: Final = {
    "J": "job-name", "N": "nodes", "n": "ntasks", "t": "time", "a": "array", "d": "dependency", "p": "partition",
    "A": "account", "q": "qos", "o": "output", "e": "error", "c": "cpus-per-task", "G": "gpus", "D": "chdir",
    "C": "constraint", "w": "nodelist", "x": "exclude",
}  # fmt: skip
_NOTHING_TO_DO: Final = {
    "nodes": "the slice says how many hosts",
    "ntasks": "one process runs per host",
    "ntasks-per-node": "one process runs per host",
    "gpus": "the slice says which chips",
    "gpus-per-node": "the slice says which chips",
    "gres": "the slice says which chips",
    "cpus-per-task": "a job has its hosts to itself",
    "mem": "a job has its hosts to itself",
    "exclusive": "a job has its hosts to itself",
    "output": "kept per rank: podwright logs JOB",
    "error": "kept per rank: podwright logs JOB",
    "open-mode": "logs are kept per attempt",
    "requeue": "a job that lost its slice always starts again",
}
_BY_HAND: Final = {
    "array": "submit an array instead: docs/reference/api.md, POST /api/v1/arrays",
    "partition": "name slices or a capacity instead",
    "account": "name a project that you are a member of: --project",
    "qos": "write priority: production, normal or batch",
    "chdir": "name the folder that the program needs as program.code",
    "constraint": "name slices instead",
    "nodelist": "slices are chosen by the scheduler",
    "exclude": "an admin can cordon a host: its slice is then not used",
    "mail-user": "use a webhook",
    "mail-type": "use a webhook",
    "signal": "the program gets SIGTERM, and `grace` before SIGKILL",
}
_VARIABLES: Final = {
    "SLURM_PROCID": "PODWRIGHT_RANK",
    "SLURM_NODEID": "PODWRIGHT_RANK",
    "SLURM_NTASKS": "PODWRIGHT_RANK_COUNT",
    "SLURM_NNODES": "PODWRIGHT_RANK_COUNT",
    "SLURM_JOB_NUM_NODES": "PODWRIGHT_RANK_COUNT",
    "SLURM_JOB_ID": "PODWRIGHT_JOB_ID",
    "SLURM_JOBID": "PODWRIGHT_JOB_ID",
    "SLURM_RESTART_COUNT": "PODWRIGHT_ATTEMPT",
}


def read(text: str, slices: str | None) -> Translation:
    """Translate an sbatch script.

    Raises:
        CannotTranslate: it holds no `#SBATCH` line.
    """
    made = Translation()
    made.spec["name"] = "job"
    options = [option for number, line in numbered(text) for option in _options(number, line)]
    if not options:
        raise CannotTranslate("there is no #SBATCH line in it")
    nodes = 0
    for number, name, value in options:
        if name == "nodes":
            nodes = number
        _option(made, number, name, value)
    made.request(slices, nodes, "slices")
    made.run_script(_script(made, text))
    return made


def _options(number: int, line: str) -> list[tuple[int, str, str]]:
    if not line.startswith("#SBATCH"):
        return []
    words = shlex.split(line.removeprefix("#SBATCH"), comments=True)
    found: list[tuple[int, str, str]] = []
    while words:
        word = words.pop(0)
        if match := re.fullmatch(r"--([a-z-]+)(?:=(.*))?", word):
            name, value = match[1], match[2]
        elif match := re.fullmatch(r"-([A-Za-z])(.*)", word):
            name, value = _SHORT.get(match[1], match[1]), match[2] or None
        else:
            raise CannotTranslate(f"line {number}: {word!r} is not an option of sbatch")
        if value is None:
            value = words.pop(0) if words and not words[0].startswith("-") else ""
        found.append((number, name, value))
    return found


def _option(made: Translation, number: int, name: str, value: str) -> None:
    said = f"--{name}={value}" if value else f"--{name}"
    match name:
        case "job-name":
            made.spec["name"] = job_name(value)
        case "time":
            made.spec["max_runtime"] = _span(value, number)
        case "comment":
            made.spec.setdefault("labels", {})["comment"] = value[:255]
        case "export":
            _export(made, number, value)
        case "no-requeue":
            made.spec["retry"] = {"failures": 0, "preemptions": 0, "infra": 0, "stalls": 0}
        case "dependency":
            made.leave(number, said, "write `after:` with the names of our jobs; see podwright explain after")
        case _ if name in _NOTHING_TO_DO:
            made.leave(number, said, f"not needed: {_NOTHING_TO_DO[name]}")
        case _:
            made.leave(number, said, _BY_HAND.get(name, "has no counterpart here"))


def _export(made: Translation, number: int, value: str) -> None:
    for part in value.split(","):
        name, equals, text = part.partition("=")
        if equals:
            made.env(name, text)
        elif name not in ("NONE", "NIL"):
            made.leave(number, f"--export={part}", "your shell's variables are not taken along; write env_vars")


def _span(value: str, number: int) -> str:
    """`D-HH:MM:SS`, `HH:MM:SS`, `MM:SS`, `MM`, `D-HH`: as sbatch(1) has it."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", value)
    if not match:
        raise CannotTranslate(f"line {number}: --time={value} is not a time of sbatch")
    days, *rest = (int(part) if part else None for part in match.groups())
    a, b, c = rest[0] or 0, rest[1], rest[2]
    if days is not None or c is not None:
        hours, minutes, seconds = a, b or 0, c or 0
    else:
        hours, minutes, seconds = 0, a, b or 0
    total = ((days or 0) * 24 + hours) * 3600 + minutes * 60 + seconds
    units = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))
    parts = []
    for size, unit in units:
        count, total = divmod(total, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "unlimited"


def _script(made: Translation, text: str) -> str:
    kept: list[str] = []
    for number, line in numbered(text):
        bare = line.strip()
        if line.startswith("#!") or bare.startswith("#SBATCH") or (not kept and not bare):
            continue
        if re.match(r"(module|ml)\s", bare):
            made.leave(number, bare, "there are no modules: the host's image or program.code brings the software")
            continue
        match = re.match(r"(\s*)(?:mpirun|srun)\s+(.*)", line)
        if match:
            line = match[1] + _without_options(made, number, match[2])
        for theirs, ours in _VARIABLES.items():
            line = re.sub(rf"\b{theirs}\b", ours, line)
        if left := sorted(set(re.findall(r"\bSLURM_\w+", line))):
            made.leave(number, ", ".join(left), "is not set here; see docs/guide/from-slurm.md")
        kept.append(line)
    if not any(line.strip() and not line.strip().startswith("#") for line in kept):
        raise CannotTranslate("it runs nothing")
    return "\n".join(kept).strip() + "\n"


def _without_options(made: Translation, number: int, rest: str) -> str:
    """What `srun` starts: each host runs the whole script here, so srun itself goes."""
    options = []
    while match := re.match(r"(-\S+)\s+(.*)", rest):
        options.append(match[1])
        rest = match[2]
    if options:
        made.leave(number, "srun " + " ".join(options), "the script runs once on every host, without srun")
    return rest
