"""Programs of users: how they report, how they fail, and what a person is told about it."""

import sys
import textwrap
from pathlib import Path

import pytest

from tests.e2e.podwright import Podwright
from tests.emulated import until

pytestmark = [pytest.mark.ray, pytest.mark.timeout(200)]

SEGFAULT = """
import os, time
if os.environ["PODWRIGHT_RANK"] == "1":
    os.kill(os.getpid(), 11)
time.sleep(600)
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
print("up", flush=True)
time.sleep(600)
"""
BINARY = "import os, sys; sys.stdout.buffer.write(bytes(range(256)) * 4); sys.stdout.flush(); sys.exit(0)"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ((sys.executable, "-c", "import sys; print('so long', file=sys.stderr); sys.exit(1)"), "exited with code 1"),
        ((sys.executable, "-c", SEGFAULT), "rank 1 on"),
        (("no-such-program",), "no-such-program"),
    ],
    ids=["exits 1", "segmentation fault", "no such program"],
)
def test_a_failed_program_is_told_in_a_sentence_that_names_the_rank(
    podwright: Podwright, command: tuple[str, ...], says: str
) -> None:
    job = podwright.wait(podwright.submit("bad", *command))
    assert job["state"] == "FAILED"
    assert says in job["message"]
    assert job["message"].startswith("rank ")
    if "SEGV" in job["message"]:
        assert "was killed by SIGSEGV (segmentation fault)" in job["message"]
    assert podwright.cli("jobs", "show", job["id"]).stdout.count(says) >= 1


def test_binary_output_arrives_byte_for_byte_and_is_shown_safely(podwright: Podwright) -> None:
    job_id = podwright.submit("binary", sys.executable, "-c", BINARY)
    assert podwright.wait(job_id)["state"] == "SUCCEEDED"
    assert podwright.log(job_id, rank=1) == bytes(range(256)) * 4
    shown = podwright.cli("logs", job_id)
    assert shown.returncode == 0
    assert not {char for char in shown.stdout if ord(char) < 32} - {"\n"}


def test_an_unmodified_script_with_a_bare_initialize_runs(podwright: Podwright, tmp_path: Path) -> None:
    script = tmp_path / "bare.py"
    script.write_text(
        textwrap.dedent(
            """
            import jax
            jax.distributed.initialize()
            print(jax.process_index(), jax.process_count(), jax.local_device_count(), jax.device_count(), flush=True)
            """
        )
    )
    job_id = podwright.submit("bare", sys.executable, str(script))
    job = podwright.wait(job_id)
    assert job["state"] == "SUCCEEDED", podwright.log(job_id, stream="stderr").decode()
    said = sorted(podwright.log(job_id, rank).decode().splitlines()[-1] for rank in (0, 1))
    assert said == ["0 2 4 8", "1 2 4 8"]


def test_a_shell_script_reports_by_appending_lines(podwright: Podwright) -> None:
    report = (
        'for s in 1 2 3; do echo "{\\"type\\":\\"metrics\\",\\"at_ms\\":$(date +%s%3N),\\"step\\":$s,'
        '\\"values\\":{\\"loss\\":0.$s}}" >> $PODWRIGHT_SPOOL; done; echo not json >> $PODWRIGHT_SPOOL'
    )
    job_id = podwright.submit("shell", "sh", "-c", report)
    assert podwright.wait(job_id)["state"] == "SUCCEEDED"
    assert podwright.losses(job_id) == {1: 0.1, 2: 0.2, 3: 0.3}
    assert "spool.invalid" in {event["kind"] for event in podwright.client.events(job_id)}


def test_a_stubborn_program_is_gone_after_its_grace(podwright: Podwright) -> None:
    job_id = podwright.submit("stubborn", sys.executable, "-c", STUBBORN, grace="1s")
    until(lambda: b"up" in podwright.log(job_id) or None, "it runs")
    assert podwright.cli("cancel", job_id).returncode == 0
    assert podwright.client.job(job_id)["state"] in ("RUNNING", "STOPPING", "CANCELLED")
    job = podwright.wait(job_id)
    assert (job["state"], job["reason"]) == ("CANCELLED", "cancelled")
    podwright.wait_for_slices()


def test_run_follows_a_command_to_its_end_and_passes_on_whether_it_succeeded(podwright: Podwright) -> None:
    good = podwright.cli("run", "--slices", "v5e:2x4", "--", "sh", "-c", "echo hello from $PODWRIGHT_RANK")
    assert good.returncode == 0, good.stderr
    assert "hello from 0" in good.stdout
    assert "hello from 1" in good.stdout
    bad = podwright.cli("run", "--slices", "v5e:2x4", "--", "false")
    assert bad.returncode == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: x\nslices: v5e:2x4\nprogramm: {command: [true]}\n", "programm"),
        ("name: x\nslices: v5p:2x2x1\nprogram: {command: ['true']}\n", "no pool has"),
        ("name: x\nslices: v5e:2x4\nprogram: {builtin: train, config: {stepz: 3}}\n", "stepz"),
        ("name: [\n", "YAML"),
    ],
    ids=["unknown key", "slices no pool has", "unknown setting", "not YAML"],
)
def test_a_bad_file_is_refused_with_the_field(podwright: Podwright, tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    jobs = len(podwright.client.jobs(limit=200)["items"])
    refused = podwright.cli("submit", str(file))
    assert refused.returncode == 2
    assert says in refused.stderr
    assert "Traceback" not in refused.stderr
    assert len(podwright.client.jobs(limit=200)["items"]) == jobs


def test_a_missing_file_is_said(podwright: Podwright) -> None:
    refused = podwright.cli("submit", "no-such.yaml")
    assert refused.returncode == 2
    assert "no-such.yaml" in refused.stderr
