"""Manifests: which steps exist, which of them are intact, and from which one to go on."""

from __future__ import annotations

import pytest

from workers.rank import latest, manifest
from workers.rank.failure import NothingRestorable
from workers.rank.latest import Latest
from workers.rank.manifest import Commit


def a_step(root, attempt, step, committed=True):
    """A step's folder with two files, as Orbax might leave it."""
    commit = Commit(attempt, step)
    (root / commit.path / "state").mkdir(parents=True)
    (root / commit.path / "state" / "array").write_bytes(bytes(range(100)))
    (root / commit.path / "commit_success.txt").write_text("yes")
    if committed:
        manifest.write(root, commit)
    return commit


def newest(attempt, path):
    return Latest(attempt, "x", int(path.split("/")[1]) if path else None, path, "token")


def corrupt(root, commit):
    (root / commit.path / "state" / "array").write_bytes(bytes(100))


def test_write_returns_the_size_and_an_untouched_step_is_intact(tmp_path):
    commit = a_step(tmp_path, 1, 100, committed=False)
    assert manifest.write(tmp_path, commit) == 103
    assert manifest.damage_of(tmp_path, commit) is None


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda root: (root / "1/100/state/array").unlink(), "1/100/state/array is missing"),
        (lambda root: (root / "1/100/state/array").write_bytes(b"x"), "1/100/state/array has 1 bytes instead of 100"),
        (lambda root: corrupt(root, Commit(1, 100)), "1/100/state/array has other contents than were committed"),
        (lambda root: (root / "1/100.manifest.json").unlink(), "its manifest is missing"),
        (lambda root: (root / "1/100.manifest.json").write_text("{}"), "its manifest is damaged: KeyError('files')"),
    ],
    ids=["missing", "truncated", "flipped", "no manifest", "broken manifest"],
)
def test_damage_is_named(tmp_path, harm, message):
    commit = a_step(tmp_path, 1, 100)
    harm(tmp_path)
    assert manifest.damage_of(tmp_path, commit).message == message


def test_commits_are_newest_first_and_leave_out_what_is_uncommitted_or_later(tmp_path):
    for attempt, step in [(1, 50), (1, 100), (2, 60), (3, 70)]:
        a_step(tmp_path, attempt, step)
    a_step(tmp_path, 2, 80, committed=False)
    assert [commit.path for commit in manifest.commits(tmp_path, up_to_attempt=2)] == ["2/60", "1/100", "1/50"]


def test_a_job_without_any_step_begins_fresh(tmp_path):
    assert manifest.choose(tmp_path, newest(1, None)) == (None, ())


def test_the_newest_step_is_chosen_though_an_uncommitted_one_lies_beside_it(tmp_path):
    commit = a_step(tmp_path, 1, 100)
    a_step(tmp_path, 1, 150, committed=False)
    assert manifest.choose(tmp_path, newest(2, "1/100")) == (commit, ())


def test_a_damaged_newest_falls_back_to_the_one_before(tmp_path):
    older, damaged = a_step(tmp_path, 1, 50), a_step(tmp_path, 2, 100)
    corrupt(tmp_path, damaged)
    chosen, (damage,) = manifest.choose(tmp_path, newest(3, "2/100"))
    assert chosen == older
    assert damage.commit == damaged


def test_a_manifest_that_latest_never_named_is_not_preferred_to_latest(tmp_path):
    commit = a_step(tmp_path, 1, 100)
    a_step(tmp_path, 1, 150)  # the process died, or was refused, before LATEST moved
    assert manifest.choose(tmp_path, newest(2, "1/100")) == (commit, ())


def test_with_every_step_damaged_nothing_is_restorable(tmp_path):
    for step in (50, 100):
        corrupt(tmp_path, a_step(tmp_path, 1, step))
    with pytest.raises(NothingRestorable, match=r"none of 2 committed steps .*1/100: .*1/50: "):
        manifest.choose(tmp_path, newest(2, "1/100"))


def test_a_step_that_latest_names_and_that_is_gone_is_not_a_fresh_start(tmp_path):
    with pytest.raises(NothingRestorable, match="its manifest is missing"):
        manifest.choose(tmp_path, newest(2, "1/100"))


def test_a_lost_latest_is_not_a_fresh_start(tmp_path):
    commit = a_step(tmp_path, 1, 100)
    (tmp_path / latest.NAME).unlink(missing_ok=True)
    claimed = latest.claim(tmp_path, 2, "b")
    assert manifest.choose(tmp_path, claimed) == (commit, ())


def test_a_quarantined_step_does_not_exist_and_keeps_its_data(tmp_path):
    commit = a_step(tmp_path, 1, 100)
    manifest.quarantine(tmp_path, commit)
    assert manifest.commits(tmp_path, 1) == []
    assert (tmp_path / "1/100/state/array").exists()


def test_discard_leaves_nothing(tmp_path):
    manifest.discard(tmp_path, a_step(tmp_path, 1, 100))
    assert list((tmp_path / "1").iterdir()) == []
