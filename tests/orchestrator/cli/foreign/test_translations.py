"""Files of other schedulers become specs that the server takes, and what they do not say here is told line by line."""

import json

import pytest
import yaml

from orchestrator.api.specs import read_spec
from orchestrator.cli.foreign import sbatch, sky, xpk
from orchestrator.cli.foreign.translation import CannotTranslate, Translation
from orchestrator.domain.spec import JobSpec

SBATCH = """\
#!/bin/bash
#SBATCH --job-name=LLama_8B
#SBATCH -N 4 --ntasks-per-node=1
#SBATCH --time=1-12:30:00
#SBATCH --array=0-3%2
#SBATCH --export=ALL,DEPTH=3
module load cuda
srun --cpu-bind=none python train.py \\
   --rank $SLURM_PROCID
"""
SKY = """\
name: finetune
resources:
  accelerators: tpu-v5litepod-16
  use_spot: true
  region: us-west4
  job_recovery: {max_restarts_on_errors: 3}
envs: {MODEL: llama, HF_TOKEN: }
file_mounts: {/data: gs://bucket}
setup: pip install -r requirements.txt
run: python train.py --model $MODEL
"""
XPK = """\
set -e
xpk workload create --cluster my --workload w_1 --tpu-type=v5litepod-16 \\
  --priority=high --env A=b --max-restarts=2 --docker-image=gcr.io/x --command "python3 train.py"
"""


def spec_of(made: Translation) -> JobSpec:
    return read_spec(json.dumps(yaml.safe_load(made.yaml())).encode())


def test_an_sbatch_script() -> None:
    made = sbatch.read(SBATCH, "v5e:4x4")
    spec = spec_of(made)
    assert (spec.name, spec.slices, spec.max_runtime, spec.env_vars) == (
        "llama_8b", "v5e:4x4", "1d12h30m", {"DEPTH": "3"},
    )  # fmt: skip
    assert spec.program.command[:4] == ("bash", "-euo", "pipefail", "-c")
    assert spec.program.command[4].split() == ["python", "train.py", "--rank", "$PODWRIGHT_RANK"]
    assert [(note.line, note.what) for note in made.notes] == [
        (3, "--nodes=4"), (3, "--ntasks-per-node=1"), (5, "--array=0-3%2"), (6, "--export=ALL"),
        (7, "module load cuda"), (8, "srun --cpu-bind=none"),
    ]  # fmt: skip


def test_without_slices_the_file_says_where_to_write_them() -> None:
    made = sbatch.read(SBATCH, None)
    assert made.spec["slices"] == "SLICES"
    assert [(note.line, note.what) for note in made.notes if "--slices" in note.why] == [(3, "slices")]


def test_a_sky_task() -> None:
    made = sky.read(SKY, None)
    spec = spec_of(made)
    assert (spec.name, spec.slices, spec.capacity, spec.env_vars, spec.secrets, spec.retry.failures) == (
        "finetune", "v5litepod-16", "spot", {"MODEL": "llama"}, ("HF_TOKEN",), 3,
    )  # fmt: skip
    assert spec.program.command[4] == "pip install -r requirements.txt\npython train.py --model $MODEL\n"
    assert {(note.line, note.what) for note in made.notes} == {
        (5, "resources.region"), (7, "envs.HF_TOKEN"), (8, "file_mounts"), (9, "setup"),
    }  # fmt: skip


def test_an_xpk_workload() -> None:
    made = xpk.read(XPK, None)
    spec = spec_of(made)
    assert (spec.name, spec.slices, spec.priority, spec.env_vars, spec.retry.failures) == (
        "w_1", "v5litepod-16", "production", {"A": "b"}, 2,
    )  # fmt: skip
    assert [note.what for note in made.notes] == ["--cluster=my", "--docker-image=gcr.io/x"]
    assert all(note.line == 2 for note in made.notes)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("90", "1h30m"), ("90:30", "1h30m30s"), ("01:30:00", "1h30m"), ("2-0", "2d"), ("2-12", "2d12h"),
        ("1-00:00:30", "1d30s"), ("0", "unlimited"),
    ],
)  # fmt: skip
def test_times_as_sbatch_reads_them(said: str, meant: str) -> None:
    made = sbatch.read(f"#SBATCH --time={said}\nhostname\n", "v5e:2x4")
    assert made.spec["max_runtime"] == meant


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (sbatch.read, "echo no options\n"),
        (sbatch.read, "#SBATCH -N 2\n# nothing runs\n"),
        (sbatch.read, "#SBATCH --time=soon\nhostname\n"),
        (sbatch.read, "#SBATCH what\nhostname\n"),
        (sky.read, "- a\n- list\n"),
        (sky.read, "name: x\n"),
        (sky.read, "name: [\n"),
        (sky.read, "envs: 3\nrun: x\n"),
        (xpk.read, "echo hello\n"),
        (xpk.read, "xpk workload create --workload a --tpu-type=v5litepod-16\n"),
    ],
)
def test_what_is_no_such_file_is_refused(read: object, text: str) -> None:
    with pytest.raises(CannotTranslate):
        read(text, None)  # type: ignore[operator]
