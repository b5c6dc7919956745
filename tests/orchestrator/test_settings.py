"""What `main` is told, and what it refuses."""

from pathlib import Path

import pytest

from orchestrator.settings import BadSettings, read_settings


@pytest.mark.parametrize(
    ("given", "root"),
    [
        ("/data/checkpoints", "/data/checkpoints"),
        ("checkpoints", str(Path.cwd() / "checkpoints")),
        ("file:///data/a%20b", "/data/a b"),
        ("file://localhost/data", "/data"),
    ],
)
def test_a_checkpoint_root_is_an_absolute_path(given: str, root: str) -> None:
    assert read_settings(["--state-dir", "state", "--checkpoint-root", given], {}).checkpoint_root == root


def test_without_a_checkpoint_root_it_is_in_the_state_folder() -> None:
    assert read_settings(["--state-dir", "state"], {}).checkpoint_root == str(Path.cwd() / "state" / "checkpoints")


def test_a_bucket_is_named_as_it_is() -> None:
    given = ["--state-dir", "state", "--checkpoint-root", "gs://bucket/root"]
    assert read_settings(given, {}).checkpoint_root == "gs://bucket/root"


@pytest.mark.parametrize("given", ["gs://", "s3://bucket", "file://another/data"])
def test_checkpoints_in_places_that_we_do_not_know_are_refused(given: str) -> None:
    with pytest.raises(BadSettings, match="--checkpoint-root"):
        read_settings(["--state-dir", "state", "--checkpoint-root", given], {})
