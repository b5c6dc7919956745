"""Manifests: which steps exist, which of them are intact, and from which one to go on."""

from __future__ import annotations

import json
import zlib

import pytest

from workers.rank import latest, manifest
from workers.rank.failure import NothingRestorable
from workers.rank.latest import Latest
from workers.rank.manifest import Commit
from workers.storage import open_storage


def a_step(root, attempt, step, committed=True):
    """A step's folder with two files, as Orbax might leave it."""
    commit = Commit(attempt, step)
    root.write(f"{commit.path}/state/array", bytes(range(100)))
    root.write(f"{commit.path}/commit_success.txt", b"yes")
    if committed:
        manifest.write(root, commit)
    return commit


def newest(attempt, path):
    return Latest(attempt, "x", int(path.split("/")[1]) if path else None, path, "token")


def corrupt(root, commit):
    root.write(f"{commit.path}/state/array", bytes(100))


def test_write_returns_the_size_and_an_untouched_step_is_intact(root):
    commit = a_step(root, 1, 100, committed=False)
    assert manifest.write(root, commit) == 103
    assert manifest.damage_of(root, commit) is None


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda root: root.delete("1/100/state/array"), "1/100/state/array is missing"),
        (lambda root: root.write("1/100/state/array", b"x"), "1/100/state/array has 1 bytes instead of 100"),
        (lambda root: corrupt(root, Commit(1, 100)), "1/100/state/array has other contents than were committed"),
        (lambda root: root.delete("1/100.manifest.json"), "its manifest is missing"),
        (lambda root: root.write("1/100.manifest.json", b"{}"), "its manifest is damaged: KeyError('files')"),
    ],
    ids=["missing", "truncated", "flipped", "no manifest", "broken manifest"],
)
def test_damage_is_named(root, harm, message):
    commit = a_step(root, 1, 100)
    harm(root)
    assert manifest.damage_of(root, commit).message == message


def test_large_files_have_another_checksum_and_older_manifests_stay_valid(tmp_path):
    root, commit = open_storage(str(tmp_path)), Commit(1, 5)
    root.write("1/5/state/large", bytes(range(256)) * 8192)
    manifest.write(root, commit)
    assert manifest.damage_of(root, commit) is None
    fields = json.loads(root.read("1/5.manifest.json"))
    (file,) = fields["files"]
    assert file.keys() == {"name", "bytes", "crc32c"}
    del file["crc32c"]
    for crc32, intact in ((zlib.crc32(bytes(range(256)) * 8192), True), (1, False)):
        file["crc32"] = crc32
        root.write("1/5.manifest.json", json.dumps(fields).encode())
        assert (manifest.damage_of(root, commit) is None) == intact


def test_commits_are_newest_first_and_leave_out_what_is_uncommitted_or_later(root):
    for attempt, step in [(1, 50), (1, 100), (2, 60), (3, 70)]:
        a_step(root, attempt, step)
    a_step(root, 2, 80, committed=False)
    assert [commit.path for commit in manifest.commits(root, up_to_attempt=2)] == ["2/60", "1/100", "1/50"]


def test_a_job_without_any_step_begins_fresh(root):
    assert manifest.choose(root, newest(1, None)) == (None, ())


def test_the_newest_step_is_chosen_though_an_uncommitted_one_lies_beside_it(root):
    commit = a_step(root, 1, 100)
    a_step(root, 1, 150, committed=False)
    assert manifest.choose(root, newest(2, "1/100")) == (commit, ())


def test_a_damaged_newest_falls_back_to_the_one_before(root):
    older, damaged = a_step(root, 1, 50), a_step(root, 2, 100)
    corrupt(root, damaged)
    chosen, (damage,) = manifest.choose(root, newest(3, "2/100"))
    assert chosen == older
    assert damage.commit == damaged


def test_a_manifest_that_latest_never_named_is_not_preferred_to_latest(root):
    commit = a_step(root, 1, 100)
    a_step(root, 1, 150)  # the process died, or was refused, before LATEST moved
    assert manifest.choose(root, newest(2, "1/100")) == (commit, ())


def test_what_latest_never_named_or_was_set_back_past_is_no_commit(root):
    for attempt, step in [(1, 50), (1, 100), (1, 150), (2, 60)]:
        a_step(root, attempt, step)
    assert [commit.path for commit in manifest.beyond(root, 2, Commit(1, 100))] == ["2/60", "1/150"]
    assert [commit.path for commit in manifest.beyond(root, 2, Commit(2, 60))] == ["1/150", "1/100"]


def test_with_every_step_damaged_nothing_is_restorable(root):
    for step in (50, 100):
        corrupt(root, a_step(root, 1, step))
    with pytest.raises(NothingRestorable, match=r"none of 2 committed steps .*1/100: .*1/50: "):
        manifest.choose(root, newest(2, "1/100"))


def test_a_step_that_latest_names_and_that_is_gone_is_not_a_fresh_start(root):
    with pytest.raises(NothingRestorable, match="its manifest is missing"):
        manifest.choose(root, newest(2, "1/100"))


def test_a_lost_latest_is_not_a_fresh_start(root):
    commit = a_step(root, 1, 100)
    root.delete(latest.NAME)
    claimed = latest.claim(root, 2, "b")
    assert manifest.choose(root, claimed) == (commit, ())


def test_a_quarantined_step_does_not_exist_and_keeps_its_data(root):
    commit = a_step(root, 1, 100)
    manifest.quarantine(root, commit)
    assert manifest.commits(root, 1) == []
    assert root.exists("1/100/state/array")


def test_discard_leaves_nothing(root):
    manifest.discard(root, a_step(root, 1, 100))
    assert root.tree("1") == ()
