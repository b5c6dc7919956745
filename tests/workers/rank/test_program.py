"""Starting a built-in program by name, and the calls that a user's own program makes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from workers.rank.distributed import bare_initialize_variables

REPOSITORY = Path(__file__).parents[3]


def a_rank(spool):
    """The environment of a single rank."""
    names = {
        "JOB_ID": "j",
        "ATTEMPT_ID": "a",
        "ATTEMPT": "1",
        "RANK": "0",
        "RANK_COUNT": "1",
        "SLICE": "s",
        "HOST": "h",
        "COORDINATOR": "127.0.0.1:1",
        "SPOOL": str(spool),
    }
    return os.environ | {f"PODWRIGHT_{name}": value for name, value in names.items()}


def run(*arguments, environment=None):
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "there is no built-in program 'nothing'"),
        ("../train", "'../train' is not the name of a built-in program"),
    ],
)
def test_an_unknown_program_is_an_invalid_program(tmp_path, name, message):
    assert run("-m", "workers.rank", name, environment=a_rank(tmp_path / "spool")).returncode == 1
    init, failure = [json.loads(line) for line in (tmp_path / "spool").read_text().splitlines()]
    assert init["phase"] == "init"
    assert (failure["reason"], failure["message"]) == ("invalid_program", message)


def test_outside_podwright_the_module_says_what_is_missing():
    done = run("-m", "workers.rank", "train", environment=dict(os.environ))
    assert done.returncode == 1
    assert "PODWRIGHT_JOB_ID is not set" in done.stderr


A_PROGRAM = """
from workers import rank
import sys
assert "jax" not in sys.modules
print(rank.context() and rank.context().job_id)
rank.phase("train")
rank.report(3, total_steps=5, loss=1.5)
"""


def test_a_users_program_reports_through_four_calls(tmp_path):
    done = run("-c", A_PROGRAM, environment=a_rank(tmp_path / "spool"))
    assert (done.stdout.strip(), done.stderr) == ("j", "")
    records = [json.loads(line) for line in (tmp_path / "spool").read_text().splitlines()]
    assert [record["type"] for record in records] == ["phase", "progress", "metrics"]
    assert records[2]["values"] == {"loss": 1.5}


def test_the_same_program_runs_outside_podwright():
    done = run("-c", A_PROGRAM, environment=dict(os.environ))
    assert (done.stdout.strip(), done.returncode) == ("None", 0)


def test_an_unmodified_script_joins_the_gang_with_a_bare_initialize():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{probe.getsockname()[1]}"
    script = "import jax; jax.distributed.initialize(); print(jax.process_index(), jax.device_count())"
    host = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env=host | bare_initialize_variables(coordinator, rank, 2, 0),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        last_lines = [rank.communicate(timeout=60)[0].splitlines()[-1] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert last_lines == ["0 8", "1 8"]
