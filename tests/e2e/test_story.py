"""The story that the demo tells, checked: train, lose a host, go on from the last commit, and change no number."""

import os
import signal

import psutil
import pytest

from tests.e2e.podwright import Podwright
from tests.emulated import runs, until
from workers.host.drill import kill_host, kill_raylet_only

pytestmark = [pytest.mark.ray, pytest.mark.timeout(400)]

STEPS = 40
TRAIN = {
    "builtin": "train",
    "config": {
        "preset": "tiny",
        "steps": STEPS,
        "checkpoint_every": 8,
        "report_every": 1,
        "model": {"L": 2, "D": 64, "T": 64, "F": 128},
    },
}


@pytest.fixture(scope="module")
def uninterrupted(whole_podwright: Podwright) -> dict[int, float]:
    """Every step's loss of a run that nothing happened to."""
    whole_podwright.wait_for_slices()
    job_id = whole_podwright.submit("calm", program=TRAIN)
    job = whole_podwright.wait(job_id)
    assert job["state"] == "SUCCEEDED", job["message"]
    assert job["attempts"] == 1
    losses = whole_podwright.losses(job_id)
    assert list(losses) == list(range(1, STEPS + 1))
    assert losses[STEPS] < losses[1] - 1
    return losses


@pytest.mark.parametrize("take_away", [kill_host, kill_raylet_only], ids=["the whole host", "its raylet alone"])
def test_a_lost_host_costs_no_more_than_the_steps_since_the_last_commit(
    podwright: Podwright, uninterrupted: dict[int, float], take_away
) -> None:
    job_id = podwright.submit("story", program=TRAIN)
    job = podwright.wait_for_step(job_id, 11)
    slice_id, pids = job["attempt"]["slices"][0], podwright.pids(job_id)
    take_away(podwright.emulated.host(slice_id, 1)["raylet_pid"])
    job = podwright.wait(job_id)
    assert job["state"] == "SUCCEEDED", job["message"]

    first, second = podwright.client.attempts(job_id)
    assert first["reason"] == "host_lost"
    assert (first["cause"]["rank"], first["cause"]["host"]) == (1, 1)
    assert first["last_sign_at_ms"] <= first["detected_at_ms"] <= first["ended_at_ms"]
    assert job["charges"] == {"failures": 0, "stalls": 0, "preemptions": 1, "infra": 0}
    assert second["reason"] == "completed"
    assert second["slices"] != first["slices"]

    committed = [c["step"] for c in podwright.client.checkpoints(job_id) if c["attempt"] == 1]
    assert second["progress"]["resumed_step"] == max(committed)
    assert podwright.losses(job_id) == uninterrupted
    after = podwright.losses(job_id, attempt=2)
    assert list(after) == list(range(max(committed) + 1, STEPS + 1))
    assert all(after[step] == uninterrupted[step] for step in after)

    states = [dict(event["data"])["to"] for event in podwright.client.events(job_id) if event["kind"] == "job.state"]
    assert states == ["STARTING", "RUNNING", "QUEUED", "STARTING", "RUNNING", "SUCCEEDED"]
    _its_time_is_accounted_for(podwright, job_id, [first, second])
    assert not any(psutil.pid_exists(pid) and runs(psutil.Process(pid)) for pid in pids), "a rank outlived its attempt"


def _its_time_is_accounted_for(podwright: Podwright, job_id: str, attempts: list[dict]) -> None:
    ledger = podwright.client.ledger(job_id)
    allocated = sum(a["chips"] * (a["ended_at_ms"] - a["ordered_at_ms"]) for a in attempts)
    assert sum(ledger["chip_ms"].values()) == ledger["allocated_chip_ms"] == allocated
    for bucket in ("launch", "init", "restore", "productive", "lost", "checkpoint"):
        assert ledger["chip_ms"][bucket] > 0, bucket
    assert 0 < ledger["goodput"] < 1


def test_both_processes_of_ours_may_die_while_a_job_trains(
    podwright: Podwright, uninterrupted: dict[int, float]
) -> None:
    job_id = podwright.submit("survivor", program=TRAIN)
    before = podwright.wait_for_step(job_id, 4)
    pids = podwright.pids(job_id)
    assert podwright.server is not None
    os.kill(podwright.server.pid, signal.SIGKILL)
    podwright.server.wait(10)
    podwright.start_server()
    middle = podwright.wait_for_step(job_id, before["progress"]["step"] + 4)
    assert podwright.workers is not None
    os.kill(podwright.workers.pid, signal.SIGKILL)
    podwright.workers.wait(10)
    podwright.start_workers()
    after = podwright.wait_for_step(job_id, middle["progress"]["step"] + 4)

    assert before["attempt"]["id"] == middle["attempt"]["id"] == after["attempt"]["id"]
    assert podwright.pids(job_id) == pids
    job = podwright.wait(job_id)
    assert (job["state"], job["attempts"]) == ("SUCCEEDED", 1), job["message"]
    assert podwright.losses(job_id) == uninterrupted
    sequence = [event["sequence"] for event in podwright.client.events(job_id)]
    assert sequence == list(range(1, len(sequence) + 1))


def test_a_finished_job_leaves_no_process(podwright: Podwright) -> None:
    until(
        lambda: not any(_is_a_rank_of(podwright, process) for process in psutil.process_iter()) or None, "none is left"
    )


def _is_a_rank_of(podwright: Podwright, process: psutil.Process) -> bool:
    try:
        return process.environ().get("PODWRIGHT_SPOOL", "").startswith(str(podwright.state_dir)) and runs(process)
    except psutil.Error:
        return False
