"""A running job in one line."""

import math
from typing import Any

import pytest

from orchestrator.cli.remote.frame import Frame


def _job(**changes: Any) -> dict[str, Any]:
    progress = {"phase": "train", "step": 120, "total_steps": 400}
    return {
        "name": "tiny",
        "state": "RUNNING",
        "attempts": 2,
        "attempt": {"live": True, "slices": ["pool-1"]},
        "progress": progress,
        "committed_step": 100,
        "message": "",
    } | changes


LOSS = [{"name": "loss", "values": [5.4, 1.8251]}, {"name": "tokens_per_second", "values": [2048.4]}]


@pytest.mark.parametrize(
    ("job", "metrics", "line"),
    [
        (_job(), LOSS, "RUNNING · attempt 2 on pool-1 · step 120/400 (30 %) · loss 1.825 · 2,048 tokens/s"),
        (_job(), [], "RUNNING · attempt 2 on pool-1 · step 120/400 (30 %)"),
        (
            _job(state="QUEUED", attempts=0, attempt=None, progress=None, message="no free v5e:2x4"),
            [],
            "QUEUED · no free v5e:2x4",
        ),
        (
            _job(state="FAILED", attempt={"live": False, "slices": ["pool-1"]}, message="rank 1 said \x1b[2J"),
            [],
            "FAILED · attempt 2 · step 120/400 (30 %) · rank 1 said \\x1b[2J",
        ),
        (
            _job(progress={"phase": "compile", "step": None, "total_steps": None}),
            [],
            "RUNNING · attempt 2 on pool-1 · compile",
        ),
    ],
)
def test_a_job_is_one_line(job: dict[str, Any], metrics: list[dict[str, Any]], line: str) -> None:
    assert Frame.of(job, metrics).line == line


def test_numbers_that_json_lacks_arrive_as_numbers() -> None:
    loss = Frame.of(_job(), [{"name": "loss", "values": ["NaN"]}]).loss
    assert loss is not None
    assert math.isnan(loss)


def test_a_milestone_is_each_tenth_of_the_way() -> None:
    at = [Frame.of(_job(progress={"phase": "train", "step": step, "total_steps": 100}), []) for step in (30, 39, 40)]
    assert at[0].milestone == at[1].milestone
    assert at[1].milestone != at[2].milestone
