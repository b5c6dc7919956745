"""Help is quick because nothing heavy is imported for it."""

import subprocess
import sys

HEAVY = ("ray", "jax", "fastapi", "sqlalchemy", "httpx", "pydantic")

_CHECK = f"""
import sys
from orchestrator.cli.main import app
try:
    app(["--help"])
except SystemExit as end:
    assert end.code == 0
print("HEAVY:", [name for name in {HEAVY!r} if name in sys.modules])
"""


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", _CHECK], capture_output=True, text=True, check=True)
    assert "HEAVY: []" in done.stdout
    assert "submit" in done.stdout


def test_a_missing_spec_is_a_sentence_and_exit_code_2() -> None:
    command = [sys.executable, "-m", "orchestrator.cli.main", "submit", "/nonexistent/job.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "podwright: cannot read /nonexistent/job.yaml: no such file or directory\n",
    )
