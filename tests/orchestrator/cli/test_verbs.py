"""Every verb for jobs, against a live server without slices: what is asked is kept, and told in one line."""

import json
from pathlib import Path

import pytest

from tests.orchestrator.cli.conftest import Podwright


@pytest.fixture
def job(podwright: Podwright, tmp_path: Path) -> str:
    """The id of a job that waits."""
    (tmp_path / "job.yaml").write_text("name: verbs\nprogram: {command: ['true']}\nslices: v5e:2x4\n")
    return str(json.loads(podwright("submit", "job.yaml", "--json").out)["id"])


def shown(podwright: Podwright, job: str) -> dict[str, object]:
    return dict(json.loads(podwright("jobs", "show", job, "--json").out))


def test_hold_release_and_priority(podwright: Podwright, job: str) -> None:
    done = podwright("jobs", "hold", job)
    assert (done.code, done.out) == (
        0, f"verbs ({job}) will be held; let it go on: podwright jobs release {job}\n",
    )  # fmt: skip
    assert podwright("jobs", "release", job).out == f"verbs ({job}) is released\n"
    assert podwright("jobs", "priority", job, "batch/3").out == f"verbs ({job}) now has priority batch/3\n"
    assert shown(podwright, job)["priority"] == "batch/3"
    assert podwright("jobs", "priority", job, "urgent").code == 2


def test_clone_differs_in_what_is_set_and_retry_wants_an_end(podwright: Podwright, job: str) -> None:
    copy = json.loads(podwright("jobs", "clone", job, "--set", "env_vars.A=1", "--set", "slices=v5e:4x4", "--json").out)
    assert copy["id"] != job
    assert (copy["spec"]["slices"], copy["spec"]["env_vars"]) == ("v5e:4x4", {"A": "1"})
    assert "only a job that has ended is retried" in podwright("jobs", "retry", job).err


def test_many_are_asked_at_once_after_a_dry_run(podwright: Podwright, job: str) -> None:
    dry = podwright("jobs", "ask", "cancel", "--name", "verbs", "--dry-run").out
    assert "cancel would be asked of" in dry
    assert job in dry
    assert job in podwright("jobs", "ask", "cancel", "--name", "verbs").out
    assert shown(podwright, job)["desired"] == "cancelled"
    assert podwright("jobs", "ask", "cancel").code == 2
    assert podwright("jobs", "ask", "hold", "--all", "--priority", "batch").code == 2
