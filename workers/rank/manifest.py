"""Manifests: the proof that a step is complete, and the choice of the step to restore.

`<root>/<attempt>/<step>.manifest.json` lies beside the step's folder, which belongs to Orbax, and lists the files in it
with size and CRC-32. It is written after the step's data is final and before LATEST names the step, and deleted before
the data. A step without a manifest does not exist. Standard library only; does not touch LATEST.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from workers.rank.failure import NothingRestorable
from workers.rank.latest import Latest, write_durably

_SUFFIX = ".manifest.json"
_QUARANTINED = ".quarantined.json"
_READ_BYTES = 1 << 20


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


def write(root: Path, commit: Commit) -> int:
    """Write the manifest of a step whose data is final; returns the size of the data in bytes."""
    folder = root / commit.path
    files = [
        {"name": str(file.relative_to(folder)), "bytes": file.stat().st_size, "crc32": _crc32(file)}
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    ]
    content = {"attempt": commit.attempt, "step": commit.step, "files": files}
    write_durably(_manifest(root, commit), json.dumps(content).encode())
    return sum(file["bytes"] for file in files)  # type: ignore[misc]  # mixed values: str and int


def commits(root: Path, up_to_attempt: int) -> list[Commit]:
    """All steps with a manifest under attempts 1 to `up_to_attempt`, newest first."""
    found = (file.relative_to(root) for file in root.glob(f"*/*{_SUFFIX}"))
    all_commits = [
        Commit(int(file.parts[0]), int(file.name.removesuffix(_SUFFIX))) for file in found if file.parts[0].isdecimal()
    ]
    return sorted((commit for commit in all_commits if commit.attempt <= up_to_attempt), reverse=True)


def damage_of(root: Path, commit: Commit) -> Damage | None:
    """Compare a step's files with its manifest: names, sizes, CRC-32. Reads all of its data, about 1 s per GB."""
    try:
        files = json.loads(_manifest(root, commit).read_bytes())["files"]
        expected = [(root / commit.path / file["name"], file["bytes"], file["crc32"]) for file in files]
    except FileNotFoundError:
        return Damage(commit, "its manifest is missing")
    except (ValueError, KeyError, TypeError) as error:
        return Damage(commit, f"its manifest is damaged: {error!r}")
    for path, size, crc32 in expected:
        name = path.relative_to(root)
        if not path.is_file():
            return Damage(commit, f"{name} is missing")
        if path.stat().st_size != size:
            return Damage(commit, f"{name} has {path.stat().st_size:,} bytes instead of {size:,}")
        if _crc32(path) != crc32:
            return Damage(commit, f"{name} has other contents than were committed")
    return None


def choose(root: Path, latest: Latest) -> tuple[Commit | None, tuple[Damage, ...]]:
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
    return None, ()


def quarantine(root: Path, commit: Commit) -> None:
    """Take a damaged step out of the commits and keep what is left of it for inspection."""
    manifest = _manifest(root, commit)
    if manifest.exists():
        manifest.replace(manifest.with_name(f"{commit.step}{_QUARANTINED}"))


def discard(root: Path, commit: Commit) -> None:
    """Delete a step, manifest first, so that a crash in between leaves an uncommitted step and no damaged one."""
    _manifest(root, commit).unlink(missing_ok=True)
    shutil.rmtree(root / commit.path, ignore_errors=True)


def _manifest(root: Path, commit: Commit) -> Path:
    return root / str(commit.attempt) / f"{commit.step}{_SUFFIX}"


def _crc32(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            checksum = zlib.crc32(block, checksum)
    return checksum
