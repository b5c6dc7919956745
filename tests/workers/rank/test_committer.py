"""The committer: what it does when a save is finished, and how a left-over process ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from workers.rank import latest
from workers.rank.committer import COMMIT_MARKER, Committer, Save
from workers.rank.progress import Reporter, Spool
from workers.storage import open_storage

REPOSITORY = Path(__file__).parents[3]
A_COMMIT = """
import sys, time
from pathlib import Path
from workers.rank.committer import Committer, Save
from workers.rank.progress import Reporter, Spool
from workers.storage import open_storage
root = Path(sys.argv[1])
committer = Committer(open_storage(str(root)), 1, "a", Reporter(Spool(root / "spool"), 0), lambda _: None)
committer.take(Save(step=int(sys.argv[2]), step_at_ms=0, started=time.monotonic(), blocked_ms=0))
committer.close()
"""


def a_finished_save(root, attempt, step):
    folder = root / str(attempt) / str(step)
    folder.mkdir(parents=True)
    (folder / COMMIT_MARKER).write_text("yes")
    (folder / "data").write_bytes(b"1234567")


def committed_by_a_process(root, step):
    """Attempt 1's committer in a process of its own; (exit code, its last record)."""
    done = subprocess.run([sys.executable, "-c", A_COMMIT, str(root), str(step)], cwd=REPOSITORY, capture_output=True)
    return done.returncode, json.loads((root / "spool").read_text().splitlines()[-1])


def test_saves_are_committed_in_order_and_nothing_is_deleted(tmp_path):
    latest.claim(open_storage(str(tmp_path)), 1, "a")
    spool = tmp_path / "spool"

    def finish_late(step):
        # Orbax says that it is done only when asked: the folder of step 30 appears while the committer waits.
        a_finished_save(tmp_path, 1, step)

    for step in (10, 20):
        a_finished_save(tmp_path, 1, step)
    committer = Committer(open_storage(str(tmp_path)), 1, "a", Reporter(Spool(spool), 0, now_ms=lambda: 9), finish_late)
    for step in (10, 20, 30):
        committer.take(Save(step, step_at_ms=step, started=time.monotonic(), blocked_ms=4))
    committer.close()

    assert latest.read(open_storage(str(tmp_path))).path == "1/30"
    assert sorted(path.name for path in (tmp_path / "1").iterdir()) == [
        "10", "10.manifest.json", "20", "20.manifest.json", "30", "30.manifest.json",
    ]  # fmt: skip
    records = [json.loads(line) for line in spool.read_text().splitlines()]
    assert [(record["event"], record["path"], record["bytes"]) for record in records] == [
        ("committed", "1/10", 10),
        ("committed", "1/20", 10),
        ("committed", "1/30", 10),
    ]
    assert (records[0]["step_at_ms"], records[0]["blocked_ms"]) == (10, 4)


def test_a_superseded_process_ends_with_that_reason_and_commits_nothing(tmp_path):
    latest.claim(open_storage(str(tmp_path)), 1, "a")
    latest.claim(open_storage(str(tmp_path)), 2, "b")
    a_finished_save(tmp_path, 1, 10)
    code, record = committed_by_a_process(tmp_path, 10)
    assert code == 1
    assert (record["type"], record["reason"]) == ("failure", "superseded")
    assert latest.read(open_storage(str(tmp_path))).path is None
    assert not (tmp_path / "1" / "10.manifest.json").exists()


def test_a_save_that_left_no_folder_is_told_and_does_not_end_the_process(tmp_path):
    latest.claim(open_storage(str(tmp_path)), 1, "a")
    code, record = committed_by_a_process(tmp_path, 10)
    assert (code, record["event"], record["step"]) == (0, "save_failed", 10)
    assert record["message"] == f"{tmp_path}: the save of step 10 failed, and left no committed folder"


def test_a_failed_save_tells_what_went_wrong_and_the_next_one_is_committed(tmp_path):
    latest.claim(open_storage(str(tmp_path)), 1, "a")
    spool = tmp_path / "spool"
    faults = {10: OSError("no space left")}
    committer = Committer(open_storage(str(tmp_path)), 1, "a", Reporter(Spool(spool), 0), faults.get)
    a_finished_save(tmp_path, 1, 20)
    for step in (10, 20):
        committer.take(Save(step, step_at_ms=step, started=time.monotonic(), blocked_ms=4))
    committer.close()
    failed, committed = map(json.loads, spool.read_text().splitlines())
    assert (failed["event"], failed["message"].endswith("failed: OSError: no space left")) == ("save_failed", True)
    assert (committed["event"], committed["step"]) == ("committed", 20)
    assert (committer.last_failure, committer.pending) == (None, False)
    assert committer.longest_s is not None


def test_an_attempt_whose_claim_is_lost_ends(tmp_path):
    a_finished_save(tmp_path, 1, 10)
    code, record = committed_by_a_process(tmp_path, 10)
    assert (code, record["reason"]) == (1, "storage_unavailable")
    assert record["message"].endswith("LATEST lost attempt 1's claim")
