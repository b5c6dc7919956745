"""Manifests: the proof that a step is complete, and what is wrong with a step.

`<root>/<attempt>/<step>.manifest.json` lies beside the step's folder, which belongs to Orbax, and lists the files in it
with size and what proves their content: a CRC-32, in a bucket the generation and CRC-32C. It is written after the
step's data is final and before LATEST names the step, and deleted before the data. A step without a manifest does not
exist. Does not touch LATEST.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from workers.rank import failpoints
from workers.rank.failure import NothingRestorable
from workers.rank.latest import Latest
from workers.storage import Proof, Storage, Stored

_SUFFIX = ".manifest.json"
_QUARANTINED = ".quarantined.json"


@dataclass(frozen=True, slots=True, order=True)
class Commit:
    """A committed step. Ordered by attempt, then step: a later attempt's are the newer ones even after a rewind."""

    attempt: int
    step: int

    @property
    def path(self) -> str:
        """ "<attempt>/<step>", as LATEST and the reports name it."""
        return f"{self.attempt}/{self.step}"

    @classmethod
    def at(cls, path: str) -> Commit:
        """The inverse of `path`."""
        attempt, step = path.split("/")
        return cls(int(attempt), int(step))


@dataclass(frozen=True, slots=True)
class Damage:
    """A committed step that cannot be restored, and the first thing found wrong with it."""

    commit: Commit
    message: str


def write(root: Storage, commit: Commit) -> int:
    """Write the manifest of a step whose data is final; returns the size of the data in bytes."""
    stored = root.tree(commit.path)
    files = [{"name": one.path.removeprefix(f"{commit.path}/"), "bytes": one.size, **root.proof(one)} for one in stored]
    content = {"attempt": commit.attempt, "step": commit.step, "files": files}
    root.write(_manifest(commit), json.dumps(content).encode())
    return sum(one.size for one in stored)


def commits(root: Storage, up_to_attempt: int) -> list[Commit]:
    """All steps with a manifest under attempts 1 to `up_to_attempt`, newest first."""
    attempts = [int(name) for name in root.folder("").folders if name.isdecimal() and int(name) <= up_to_attempt]
    found: list[Commit] = []
    for attempt in attempts:
        names = (name for name in root.folder(str(attempt)).files if name.endswith(_SUFFIX))
        steps = (name.removesuffix(_SUFFIX) for name in names)
        found += [Commit(attempt, int(step)) for step in steps if step.isdecimal()]
    return sorted(found, reverse=True)


def damage_of(root: Storage, commit: Commit) -> Damage | None:
    """Compare a step's files with its manifest: names, sizes, contents.

    In a bucket one listing tells; in a local folder all of the data is read, about 1 s per GB.
    """
    return _compare(root, commit, root.proof)


def verify(root: Storage, commit: Commit) -> Damage | None:
    """As `damage_of`, but every byte is read, from a bucket too."""
    return _compare(root, commit, root.proof_of_bytes)


def choose(root: Storage, latest: Latest) -> tuple[Commit | None, tuple[Damage, ...]]:
    """The newest intact step that `latest`'s attempt may go on from, and the damaged ones that were passed over.

    No commit, no damage: the job never committed a step and begins at 0. Raises NothingRestorable when steps were
    committed and none is intact. When LATEST names no step although there are manifests (it was lost, or the process
    died between the two), the manifests count: a job never begins at 0 again by accident.
    """
    candidates: Iterable[Commit] = commits(root, latest.attempt)
    if latest.path is not None:
        newest = Commit.at(latest.path)
        candidates = [newest, *(older for older in candidates if older < newest and older.step < newest.step)]
    damaged: list[Damage] = []
    for commit in candidates:
        damage = damage_of(root, commit)
        if damage is None:
            return commit, tuple(damaged)
        damaged.append(damage)
    if damaged:
        listed = "; ".join(f"{damage.commit.path}: {damage.message}" for damage in damaged)
        raise NothingRestorable(f"none of {len(damaged)} committed steps can be restored ({listed})")
    if quarantined := _quarantined(root):
        raise NothingRestorable(f"the committed steps are all quarantined ({', '.join(quarantined)})")
    return None, ()


def beyond(root: Storage, up_to_attempt: int, newest: Commit) -> list[Commit]:
    """Steps with a manifest that are no commits: LATEST never named them, or was set back past them."""
    return [one for one in commits(root, up_to_attempt) if one > newest or (one < newest and one.step >= newest.step)]


def quarantine(root: Storage, commit: Commit) -> None:
    """Take a damaged step out of the commits and keep what is left of it for inspection."""
    manifest = _manifest(commit)
    content = root.read(manifest)
    if content is not None:
        root.write(f"{commit.path}{_QUARANTINED}", content)
        root.delete(manifest)


def withdraw(root: Storage, commit: Commit) -> None:
    """Take back a manifest whose step was never committed. Its data is the orphans' business."""
    root.delete(_manifest(commit))


def discard(root: Storage, commit: Commit) -> None:
    """Delete a step, manifest first, so that a crash in between leaves an uncommitted step and no damaged one. One that
    is in quarantine goes with its mark, last."""
    root.delete(_manifest(commit))
    failpoints.reach("discard.unmarked")
    root.delete_tree(commit.path)
    root.delete(f"{commit.path}{_QUARANTINED}")
    failpoints.reach("discard.after")


def _compare(root: Storage, commit: Commit, prove: Callable[[Stored, Proof], Proof]) -> Damage | None:
    content = root.read(_manifest(commit))
    if content is None:
        return Damage(commit, "its manifest is missing")
    try:
        expected = [_expected(commit, file) for file in json.loads(content)["files"]]
    except (ValueError, KeyError, TypeError) as error:
        return Damage(commit, f"its manifest is damaged: {error!r}")
    found = {stored.path: stored for stored in root.tree(commit.path)}
    for path, size, proof in expected:
        stored = found.get(path)
        if stored is None:
            return Damage(commit, f"{path} is missing")
        if stored.size != size:
            return Damage(commit, f"{path} has {stored.size:,} bytes instead of {size:,}")
        proven = prove(stored, proof)
        if any(proven.get(kind, value) != value for kind, value in proof.items()) or not proof.keys() & proven.keys():
            return Damage(commit, f"{path} has other contents than were committed")
    return None


def _expected(commit: Commit, file: dict[str, object]) -> tuple[str, int, Proof]:
    rest = {kind: int(str(value)) for kind, value in file.items() if kind not in ("name", "bytes")}
    if not rest:
        raise KeyError("no checksum")
    return f"{commit.path}/{file['name']}", int(str(file["bytes"])), rest


def _quarantined(root: Storage) -> list[str]:
    return [
        f"{attempt}/{name.removesuffix(_QUARANTINED)}"
        for attempt in root.folder("").folders
        if attempt.isdecimal()
        for name in root.folder(attempt).files
        if name.endswith(_QUARANTINED)
    ]


def _manifest(commit: Commit) -> str:
    return f"{commit.path}{_SUFFIX}"
