"""What an agent tells a rank, and what a rank says when it was told too little."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.rank.context import RankContext, inside_podwright

REQUIRED = {
    "PODWRIGHT_JOB_ID": "job_1",
    "PODWRIGHT_ATTEMPT_ID": "att_1",
    "PODWRIGHT_ATTEMPT": "2",
    "PODWRIGHT_RANK": "1",
    "PODWRIGHT_RANK_COUNT": "4",
    "PODWRIGHT_SLICE": "slice-a",
    "PODWRIGHT_HOST": "slice-a/1",
    "PODWRIGHT_COORDINATOR": "127.0.0.1:9000",
    "PODWRIGHT_SPOOL": "/run/spool",
}


def test_a_users_command_needs_no_config_and_no_checkpoints():
    context = RankContext.from_environment(REQUIRED)
    assert (context.attempt, context.rank, context.rank_count, context.spool) == (2, 1, 4, Path("/run/spool"))
    assert (context.config, context.checkpoint_root, context.checkpoint_every_steps) == (None, None, None)


def test_the_optional_variables_are_read():
    context = RankContext.from_environment(
        REQUIRED
        | {
            "PODWRIGHT_CONFIG": "/c.json",
            "PODWRIGHT_CHECKPOINT_ROOT": "/ckpt",
            "PODWRIGHT_CHECKPOINT_EVERY_STEPS": "25",
            "PODWRIGHT_SAVE_DEADLINE_MS": "60000",
            "PODWRIGHT_NOTICE": "/run/notice.json",
        }
    )
    assert (context.save_deadline_ms, context.notice) == (60_000, Path("/run/notice.json"))
    assert (context.config, context.checkpoint_root) == (Path("/c.json"), "/ckpt")
    assert context.checkpoint_every_steps == 25


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_missing_variable_is_named(name):
    with pytest.raises(ValueError, match=f"{name} is not set"):
        RankContext.from_environment({key: value for key, value in REQUIRED.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PODWRIGHT_RANK", "one", "PODWRIGHT_RANK='one' is not a whole number"),
        ("PODWRIGHT_RANK", "4", "PODWRIGHT_RANK=4 is not within PODWRIGHT_RANK_COUNT=4"),
        ("PODWRIGHT_ATTEMPT", "0", "PODWRIGHT_ATTEMPT=0 is not an attempt number"),
        ("PODWRIGHT_CHECKPOINT_EVERY_STEPS", "0", "PODWRIGHT_CHECKPOINT_EVERY_STEPS=0 is less than 1"),
    ],
)
def test_a_wrong_value_is_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        RankContext.from_environment(REQUIRED | {name: value})


def test_a_process_without_these_variables_is_outside():
    assert inside_podwright(REQUIRED)
    assert not inside_podwright({"PATH": "/bin"})
