"""Which folder is the state directory."""

from pathlib import Path

from orchestrator.cli.state import state_dir


def test_a_named_folder_wins(tmp_path: Path) -> None:
    (tmp_path / ".podwright").mkdir()
    assert state_dir(tmp_path / "mine", tmp_path) == tmp_path / "mine"


def test_the_nearest_folder_above_is_taken(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / ".podwright").mkdir()
    assert state_dir(None, below) == tmp_path / ".podwright"


def test_without_any_it_is_the_one_that_will_be_made_here(tmp_path: Path) -> None:
    assert state_dir(None, tmp_path) == tmp_path / ".podwright"
