"""A folder on a user's machine runs on every host of a slice, and what it writes comes back."""

from pathlib import Path

import pytest

from tests.e2e.podwright import Podwright
from tests.emulated import until

pytestmark = [pytest.mark.ray, pytest.mark.timeout(200)]

SPEC = """\
name: bundled
slices: v5e:2x4
program: {command: [python, -m, app.main], code: ./src}
retry: {failures: 0, infra: 0}
"""
MAIN = """\
import os
from pathlib import Path
from app.words import WORD
from workers.rank.context import RankContext
print(WORD, os.environ["PODWRIGHT_RANK"], sorted(path.name for path in Path.cwd().iterdir()))
"""


def test_a_folder_named_in_a_spec_file_is_what_every_rank_runs(podwright: Podwright, tmp_path: Path) -> None:
    podwright.wait_for_slices()
    source = tmp_path / "src"
    (source / "app").mkdir(parents=True)
    (source / "app" / "main.py").write_text(MAIN)
    (source / "app" / "words.py").write_text("WORD = 'packed'")
    (source / ".gitignore").write_text("*.bin\n")
    (source / "data.bin").write_bytes(bytes(1000))
    (tmp_path / "job.yaml").write_text(SPEC)
    for _ in range(2):  # the second finds the code on its hosts
        answer = podwright.cli("submit", str(tmp_path / "job.yaml"))
        assert answer.returncode == 0, answer.stderr
        job = podwright.wait("bundled")
        assert job["state"] == "SUCCEEDED", podwright.log(job["id"], stream="stderr") or job["message"]
        for rank in range(2):
            assert podwright.log(job["id"], rank) == f"packed {rank} ['.gitignore', 'app']\n".encode()


def test_a_folder_that_cannot_be_packed_is_refused_before_anything_is_sent(
    podwright: Podwright, tmp_path: Path
) -> None:
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "a.py").write_text("")
    answer = podwright.cli("run", "--slices", "v5e:2x4", "--code", str(tmp_path), "--", "true")
    assert answer.returncode == 2
    assert answer.stderr.startswith("podwright: program.code: workers would hide Podwright's own package")


LEAVES = """\
import os, pathlib, sys
out = pathlib.Path(os.environ["PODWRIGHT_OUTPUT"])
(out / "plots").mkdir()
(out / "plots" / "loss.csv").write_text("step,loss\\n1,2.5\\n")
(out / "link").symlink_to("/etc/passwd")
(out / "big.bin").write_bytes(bytes(3_000_000))
sys.exit(int(os.environ["PODWRIGHT_RANK"]))
"""


def test_what_ranks_leave_comes_back_also_of_a_failed_job_and_through_an_outage(
    podwright: Podwright, tmp_path: Path
) -> None:
    podwright.wait_for_slices()
    job_id = podwright.submit("leaves", "python", "-c", "import time; time.sleep(3)\n" + LEAVES)
    until(lambda: podwright.client.job(job_id)["state"] == "RUNNING" or None, "it runs")
    assert podwright.server is not None
    podwright.server.kill()
    podwright.server.wait()
    podwright.start_server()
    job = podwright.wait(job_id)
    assert job["state"] == "FAILED"

    def whole() -> bool | None:
        found = podwright.client.artifacts.list(job_id)
        return (
            sorted((one["rank"], one["path"]) for one in found if one["state"] == "kept")
            == [(rank, path) for rank in range(2) for path in ("big.bin", "plots/loss.csv")]
            or None
        )

    until(whole, "every file is kept")
    listed = podwright.cli("artifacts", "list", job_id)
    assert "is a symbolic link" in listed.stdout
    got = podwright.cli("artifacts", "get", job_id, "--to", str(tmp_path / "got"))
    assert got.returncode == 0, got.stderr
    for rank in range(2):
        folder = tmp_path / "got" / "attempt-1" / f"rank-{rank}"
        assert (folder / "plots" / "loss.csv").read_text() == "step,loss\n1,2.5\n"
        assert (folder / "big.bin").read_bytes() == bytes(3_000_000)
        assert not (folder / "link").exists()
