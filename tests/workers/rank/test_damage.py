"""The damage matrix: every file of a step that real Orbax wrote, harmed in every way; and what an attempt then does."""

from __future__ import annotations

import re

import pytest

from workers.rank import latest, manifest
from workers.rank.manifest import Commit
from workers.storage import open_storage

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def saved(chain):
    """(forks, the address of their storage), after an attempt that saved two steps."""
    forks, address = chain
    forks.start(address, saves=2)
    assert forks.ended() == 0, forks.output()
    return chain


def changed(content):
    return bytes([content[0] ^ 1]) + content[1:]


HARMS = {
    "missing": (lambda root, path: root.delete(path), "is missing"),
    "truncated": (lambda root, path: root.write(path, root.read(path)[:-1]), "bytes instead of"),
    "changed": (lambda root, path: root.write(path, changed(root.read(path))), "has other contents"),
}


def test_every_harm_to_every_file_is_found_before_anything_is_restored(saved):
    _, address = saved
    root, newest, older = open_storage(address), Commit(1, 2), Commit(1, 1)
    found = dict.fromkeys(HARMS, 0)
    for stored in root.tree(newest.path):
        whole = root.read(stored.path)
        for name, (harm, message) in HARMS.items():
            harm(root, stored.path)
            chosen, (damage,) = manifest.choose(root, latest.read(root))
            assert (chosen, damage.commit) == (older, newest), (name, stored.path)
            assert damage.message.startswith(stored.path)
            assert message in damage.message
            found[name] += 1
            root.write(stored.path, whole)
            manifest.write(root, newest)  # in a bucket the same bytes are another generation
    assert manifest.verify(root, newest) is None
    print(f"\n{address[:5]}…: files harmed and found: {found}, each time step 1 was chosen")
    assert min(found.values()) >= 10


def test_verify_reads_what_a_listing_takes_on_trust(saved):
    _, address = saved
    root = open_storage(address)
    assert manifest.verify(root, Commit(1, 2)) is None
    path = root.tree("1/2")[0].path
    root.write(path, changed(root.read(path)))
    assert "has other contents" in manifest.verify(root, Commit(1, 2)).message


def events(forks):
    return [(record["event"], record.get("path")) for record in forks.records()]


@pytest.mark.parametrize(
    "harm",
    [
        lambda root: root.delete("1/2.manifest.json"),
        lambda root: root.write("1/2.manifest.json", b"{"),
        lambda root: root.delete_tree("1/2"),
        lambda root: root.delete("1/2/commit_success.txt"),
    ],
    ids=["no manifest", "half a manifest", "no data", "no marker"],
)
def test_an_attempt_goes_on_from_the_step_before_and_sets_the_damaged_one_aside(saved, harm):
    forks, address = saved
    root = open_storage(address)
    harm(root)
    forks.start(address, saves=2)
    assert forks.ended() == 0, forks.output()
    assert events(forks) == [("quarantined", "1/2"), ("restored", "1/1"), ("committed", "2/2"), ("committed", "2/3")]
    assert latest.read(root).path == "2/3"
    assert Commit(1, 2) not in manifest.commits(root, 9)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda root: [root.delete(f"1/{step}.manifest.json") for step in (1, 2)], "none of 1 committed steps can be"),
        (lambda root: [root.delete_tree(f"1/{step}") for step in (1, 2)], "none of 2 committed steps can be restored"),
        (lambda root: root.delete_tree(""), "step 2 was committed, and .* holds no committed step any more"),
        (lambda root: root.write("LATEST", b"{"), "LATEST is damaged"),
    ],
    ids=["no manifests", "no data", "nothing at all", "half a LATEST"],
)
def test_with_nothing_restorable_an_attempt_stops_and_never_begins_at_0(saved, harm, message):
    forks, address = saved
    harm(open_storage(address))
    for _ in range(2):  # nor does the attempt after it
        forks.start(address, saves=1, committed_step=2)
        assert forks.ended() == 1
        (failure,) = forks.records("failure")
        assert failure["reason"] == "nothing_restorable"
        assert re.search(message, failure["message"]), failure["message"]
        assert not {"fresh", "restored", "committed"} & {event for event, _ in events(forks)}


def test_a_lost_latest_is_found_again_from_the_manifests(saved):
    forks, address = saved
    open_storage(address).delete("LATEST")
    forks.start(address, saves=1)
    assert forks.ended() == 0, forks.output()
    assert events(forks) == [("restored", "1/2"), ("committed", "2/3")]
