"""What helps while typing: completion, suggestions, explanations, first files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.orchestrator.cli.conftest import Podwright
from tests.orchestrator.client.server import Server

SPEC = "name: shakespeare\nprogram: {command: ['true']}\nslices: v5e:2x4\n"


def test_a_command_option_field_or_job_that_was_probably_meant_is_named(podwright: Podwright, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(SPEC)
    assert podwright("submit", "job.yaml").code == 0
    assert "did you mean shakespeare?" in podwright("jobs", "show", "shakespear").err
    assert "Did you mean 'list'?" in podwright("jobs", "lst").err
    assert "--state" in podwright("jobs", "list", "--stat", "QUEUED").err
    assert "did you mean checkpoint.keep_best?" in podwright("explain", "checkpoint.keep_bst").err


def test_a_field_is_explained_without_a_control_plane(anywhere: Podwright) -> None:
    done = anywhere("explain", "checkpoint.keep_best.mode")
    assert done.out.splitlines()[0] == "checkpoint.keep_best.mode   min or max, default: min"
    assert anywhere("explain").out.splitlines()[1].split()[:3] == ["name", "text", "required"]


def test_a_first_file_is_written_once_and_is_taken_by_the_server(podwright: Podwright, tmp_path: Path) -> None:
    assert podwright("init", "--slices", "v5e:2x4").code == 0
    (tmp_path / "train.py").write_text("print(1)\n")
    assert podwright("submit", "job.yaml").code == 0
    assert podwright("init").err == "podwright: job.yaml is already there; name another with --output\n"
    assert podwright("init", "--from", "sky").code == 2


def test_a_foreign_file_is_translated_and_what_is_missing_is_told(anywhere: Podwright, tmp_path: Path) -> None:
    (tmp_path / "old.sh").write_text("#SBATCH -N 2\n#SBATCH --partition=tpu\nsrun python train.py\n")
    done = anywhere("init", "--from", "sbatch", "old.sh", "--slices", "v5e:2x4", "--output", "-")
    assert "slices: v5e:2x4\n" in done.out
    assert done.err.splitlines() == [
        "old.sh:1: --nodes=2: not needed: the slice says how many hosts",
        "old.sh:2: --partition=tpu: name slices or a capacity instead",
    ]
    (tmp_path / "odd.sh").write_text("echo 1\n")
    refused = anywhere("init", "--from", "sbatch", "odd.sh", "--output", "-").err
    assert refused == "podwright: odd.sh is no job of sbatch: there is no #SBATCH line in it\n"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_commands_fields_and_live_jobs(
    shell: str, podwright: Podwright, tmp_path: Path, live_server: Server
) -> None:
    program = shutil.which(shell)
    if program is None:
        if os.environ.get("CI") == "true" and shell == "bash":
            pytest.fail("there is no bash, and in CI nothing may be skipped")
        pytest.skip(f"there is no {shell}")
    (tmp_path / "job.yaml").write_text(SPEC)
    podwright("submit", "job.yaml")
    here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    environment = here | {"PODWRIGHT_STATE": str(live_server.state_dir)}

    def shown(script: str) -> str:
        done = subprocess.run([program, "-c", script], env=environment, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.stdout

    (tmp_path / "completion").write_text(shown(f"_PODWRIGHT_COMPLETE=source_{shell} podwright"))
    if shell == "bash":
        words = 'COMP_WORDS=({}) COMP_CWORD={}; _podwright_completion podwright; printf "%s\\n" "${{COMPREPLY[@]}}"'
        load = f". {tmp_path / 'completion'}; "
        assert shown(load + words.format("podwright expl", 1)).split() == ["explain"]
        assert "shakespeare" in shown(load + words.format("podwright watch shak", 2)).split()
    else:
        load = f"autoload -Uz compinit && compinit -u -d {tmp_path / 'dump'}; . {tmp_path / 'completion'}; "
        assert "_podwright_completion" in shown(load + "echo $_comps[podwright]")
        asked = "_PODWRIGHT_COMPLETE=complete_zsh _TYPER_COMPLETE_ARGS='podwright watch shak' podwright"
        assert '"shakespeare":"QUEUED"' in shown(asked)
